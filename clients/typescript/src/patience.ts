/** When to try again, and how long to wait before. */
import { Unreachable, refusal } from "./errors.js";

/** "Not now": too many at once, or a proxy or a disk that is away for a moment. */
const AGAIN = new Set([429, 502, 503, 504]);
/** A gateway that lost the service: the call may have been carried out. */
const GATEWAY = new Set([502, 504]);
const UNSURE = "the call may have been carried out: look at the model, and send it again if it was not";
const FIRST = 100;
const LONGEST = 5_000;

/** Is given a line of text before each wait for another attempt. */
export type Progress = (status: string) => void;
export type Send = (signal: AbortSignal) => Promise<Response>;

/**
 * Send until there is an answer that is no "not now".
 * @param send makes one attempt
 * @param once whether a second request would do it again: then it is repeated only if the first one was not sent
 * @param receive waits for what is needed of the reply
 * @param retries how many attempts after the first
 * @param timeout milliseconds for one attempt
 * @param progress is called before each wait
 */
export async function patiently<Reply>(send: Send, once: boolean, receive: (response: Response) => Promise<Reply>, retries: number, timeout: number, progress?: Progress): Promise<Reply> {
  for (let attempt = 0; ; attempt++) {
    let wait = pause(attempt), why: string;
    try {
      const response = await send(AbortSignal.timeout(timeout));
      if (!AGAIN.has(response.status) || (once && GATEWAY.has(response.status))) return await receive(response);
      const refused = refusal(response.status, await response.text());
      if (attempt >= retries) throw refused;
      why = refused.problem;
      wait = Math.max(wait, asked(response.headers.get("retry-after")));
    } catch (error) {
      if (!lost(error)) throw error;
      if (once && !notSent(error)) throw new Unreachable(`the connection was lost before the reply: ${reason(error)}`, UNSURE);
      if (attempt >= retries) throw gone(attempt, error);
      why = `there is no reply: ${reason(error)}`;
    }
    progress?.(`${why}; the next attempt is in ${(wait / 1_000).toFixed(1)} s`);
    await sleep(wait);
  }
}

/** The wait before the attempt after this one, in milliseconds. */
export function pause(attempt: number): number {
  return Math.min(LONGEST, FIRST * 2 ** attempt) * (0.5 + Math.random() / 2);
}

export function sleep(wait: number): Promise<void> {
  return new Promise((go) => setTimeout(go, wait));
}

/** The refusal after the last attempt without an answer. */
export function gone(attempt: number, error: unknown): Unreachable {
  return new Unreachable(`no answer after ${attempt + 1} attempts: ${reason(error)}`);
}

/** Whether an attempt got no answer: `fetch` says so with a TypeError, a limit of time with a TimeoutError. */
export function lost(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof DOMException && error.name === "TimeoutError");
}

/** Whether there was no connection that could have carried the call; only Node says so. */
function notSent(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return cause?.code === "ECONNREFUSED" || cause?.code === "ENOTFOUND";
}

function reason(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { code?: string } };
  return cause?.code ? `${message} (${cause.code})` : message;
}

/** What Retry-After asks for, in milliseconds; at most a minute. */
function asked(header: string | null): number {
  return header && /^\d+$/.test(header) ? Math.min(60, Number(header)) * 1_000 : 0;
}
