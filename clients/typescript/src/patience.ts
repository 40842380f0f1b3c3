/** When to try again, and how long to wait before. */
import { Unreachable, refusal } from "./errors.js";

/** "Not now": too many at once, or a proxy or a disk that is away for a moment. */
const AGAIN = new Set([429, 502, 503, 504]);
/** A gateway that lost the service: the call may have been carried out. */
const GATEWAY = new Set([502, 504]);
const UNSURE = "the call may have been carried out: look at the model, and send it again if it was not";
const FIRST = 100;
const LONGEST = 5_000;

export type Send = (signal: AbortSignal) => Promise<Response>;

/**
 * Send until there is an answer that is no "not now".
 * @param send makes one attempt
 * @param once whether a second request would do it again: then it is repeated only if the first one was not sent
 * @param receive waits for what is needed of the reply
 * @param retries how many attempts after the first
 * @param timeout milliseconds for one attempt
 */
export async function patiently<Reply>(send: Send, once: boolean, receive: (response: Response) => Promise<Reply>, retries: number, timeout: number): Promise<Reply> {
  for (let attempt = 0; ; attempt++) {
    let wait = Math.min(LONGEST, FIRST * 2 ** attempt) * (0.5 + Math.random() / 2);
    try {
      const response = await send(AbortSignal.timeout(timeout));
      if (!AGAIN.has(response.status) || (once && GATEWAY.has(response.status))) return await receive(response);
      if (attempt >= retries) throw refusal(response.status, await response.text());
      await response.body?.cancel();
      wait = Math.max(wait, asked(response.headers.get("retry-after")));
    } catch (error) {
      if (!lost(error)) throw error;
      if (once && !notSent(error)) throw new Unreachable(`the connection was lost before the reply: ${reason(error)}`, UNSURE);
      if (attempt >= retries) throw new Unreachable(`no answer after ${attempt + 1} attempts: ${reason(error)}`);
    }
    await new Promise((go) => setTimeout(go, wait));
  }
}

/** Whether an attempt got no answer: `fetch` says so with a TypeError, a limit of time with a TimeoutError. */
function lost(error: unknown): boolean {
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
