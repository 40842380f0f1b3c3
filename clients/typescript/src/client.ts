/** The client: every call of the service. */
import { refusal } from "./errors.js";
import { Model } from "./model.js";
import { gone, lost, patiently, pause, sleep } from "./patience.js";
import type { Progress } from "./patience.js";
import type {
  Answer, CandidateRow, Changes, Compact, Comparison, CreatedToken, Description, Event, Example, Features, Feedback, Finding, Learnt, Promoted, Request, Result, Retained, Segments,
  Settings, Story, Taste, Token, TokenSettings, Ubi, UbiReply, Weight, Worth,
} from "./types.js";

export type Options = {
  /** What `smidgen token create` printed. Never put one into a page: let a proxy of the same origin add it. */
  readonly token?: string;
  /** Milliseconds to wait for an answer before the attempt counts as lost. */
  readonly timeout?: number;
  /** How many attempts after the first. */
  readonly retries?: number;
  /** Another `fetch`, for tests and for runtimes that bring their own. */
  readonly fetch?: typeof globalThis.fetch;
};

/** A decision, or its id. */
export type Decided = Answer | string;

/**
 * A decision service: the same two verbs over HTTP.
 *
 * Each decision has an idempotency id, and the first feedback on a decision counts: both may be sent twice and are carried
 * out once. Lost connections and "not now" (429, 502, 503, 504) are therefore tried again with growing pauses. Calls that
 * would be carried out twice (copy, rename, import, retract, rollback, promote, forget, a new token) are repeated only if
 * they were not sent.
 */
export class Client {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof globalThis.fetch;

  /**
   * @param url the service's address, e.g. `"http://127.0.0.1:8470"`; in a page `""` or a path of the same origin
   * @param options token, limits of time, retries
   */
  constructor(url: string, options: Options = {}) {
    if (url && !/^(https?:\/\/[^/]|\/)/.test(url)) {
      throw new TypeError(`the address is ${JSON.stringify(url)}; give one like "http://127.0.0.1:8470", or a path of this origin`);
    }
    this.#base = url.replace(/\/+$/, "");
    this.#headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
    this.#timeout = options.timeout ?? 10_000;
    this.#retries = options.retries ?? 4;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /**
   * Make a model, or find it if it is there with the same settings. `onProgress` is called with a line of text before each
   * wait for another attempt: a service that is starting, or cannot be reached.
   */
  async create(name: string, settings: Settings, options: { onProgress?: Progress } = {}): Promise<Model> {
    await this.#json("PUT", model(name), settings, false, options.onProgress);
    return new Model(this, name);
  }

  /** A handle for a model; asks nothing of the service yet. */
  model(name: string): Model {
    return new Model(this, name);
  }

  /** The models at a glance. */
  async models(): Promise<Description[]> {
    return (await this.#json<{ models: Description[] }>("GET", "/v1/models")).models;
  }

  /** A model at a glance: settings, version, counts, how well it does; of tune `best`, in a context if one is given. */
  describe(name: string, asked: { context?: Features } = {}): Promise<Description> {
    const context = asked.context === undefined ? "" : `?context=${encodeURIComponent(JSON.stringify(asked.context))}`;
    return this.#json("GET", model(name) + context);
  }

  /** Ask for a decision. The same `id` and request give the same decision; one is made if you give none. */
  decide(name: string, request: Request = {}): Promise<Answer> {
    return this.#json("POST", `${model(name)}/decisions`, { id: crypto.randomUUID(), ...request });
  }

  /** Ask for many decisions in one call, or for one for each row of a `matrix` (label, filter): all of them, or a refusal. */
  async decideMany(name: string, given: readonly Request[] | Compact, options: { key?: string } = {}): Promise<Answer[]> {
    const body = Array.isArray(given)
      ? { decisions: given.map((each: Request) => ({ id: crypto.randomUUID(), ...options, ...each })) }
      : { id: crypto.randomUUID(), features: given, ...options };
    return (await this.#json<{ decisions: Answer[] }>("POST", `${model(name)}/decisions:batch`, body)).decisions;
  }

  /** Tell what people did, in a second or in a day; once is enough, and twice does no harm. */
  learn(decided: Decided, feedback: Feedback): Promise<Learnt> {
    return this.#json("POST", `${decision(decided)}/feedback`, feedback);
  }

  /** Tell what many people did, in one call; for each, in order, what became of it. */
  async learnMany(feedback: readonly (Feedback & { readonly decision: Decided })[]): Promise<Result[]> {
    const body = feedback.map((each) => ({ ...each, decision: id(each.decision) }));
    return (await this.#json<{ results: Result[] }>("POST", "/v1/feedback:batch", { feedback: body })).results;
  }

  /** Let a decision count that was asked for with `activate: false`. */
  async shown(decided: Decided): Promise<"shown" | "duplicate" | "late"> {
    return (await this.#json<{ status: "shown" | "duplicate" | "late" }>("POST", `${decision(decided)}/shown`)).status;
  }

  /** A decision from beginning to end: shown, answered, learnt at which version, or why not. */
  story(decided: Decided): Promise<Story> {
    return this.#json("GET", decision(decided));
  }

  /** Undo what was learnt of a decision, which is open again; the model's version. */
  async retract(decided: Decided): Promise<number> {
    return (await this.#once<Versioned>("POST", `${decision(decided)}:retract`)).model_version;
  }

  /** Names and weights of a model, or of one of its keys, strongest first. */
  async weights(name: string, asked: { key?: string; limit?: number; expand?: string } = {}): Promise<Weight[]> {
    return (await this.#json<{ weights: Weight[] }>("GET", `${model(name)}/weights${query(asked)}`)).weights;
  }

  /** Findings about a model, the worst first, each with its figures and a hint. */
  async health(name: string): Promise<Finding[]> {
    return (await this.#json<{ findings: Finding[] }>("GET", `${model(name)}/health`)).findings;
  }

  /** Teach examples whose answers are known; all of them, once. */
  teach(name: string, examples: readonly Example[], options: { key?: string; id?: string } = {}): Promise<{ taught: number; model_version: number }> {
    return this.#json("POST", `${model(name)}/examples`, { id: crypto.randomUUID(), ...options, examples });
  }

  /** Change a model that lives: `add_labels`, `add_text`, `window_s`, `default_reward`, `explore`, …. */
  amend(name: string, changes: Changes): Promise<Description> {
    return this.#json("PATCH", model(name), changes);
  }

  /** Make a copy of a model under another name, with or without what it has learnt. */
  copy(name: string, to: string, options: { learnt?: boolean } = {}): Promise<Description> {
    return this.#once("POST", `${model(name)}:copy`, { to, ...options });
  }

  /** Make a model of a saved learner, or of a log (`application/x-ndjson`). */
  async bring(name: string, content: Uint8Array | string, media = "application/octet-stream"): Promise<Description> {
    return read(await this.#send("POST", `${model(name)}:import`, content, media, whole, true));
  }

  /** Go back to the weights of a version, or of a moment (the only way, of several shards); the version that this makes. */
  async rollback(name: string, to: number | { readonly time: string | number }): Promise<number> {
    const body = typeof to === "number" ? { version: to } : to;
    return (await this.#once<Versioned>("POST", `${model(name)}:rollback`, body)).model_version;
  }

  /** Forget a key of a model exactly: its events are erased; how many there were. */
  async forget(name: string, key: string): Promise<number> {
    return (await this.#once<{ forgotten: number }>("DELETE", `${model(name)}/keys/${encodeURIComponent(key)}`)).forgotten;
  }

  /** What a draft model's user's edits say, in sentences and by trait. */
  taste(name: string, asked: { key?: string } = {}): Promise<Taste> {
    return this.#json("GET", `${model(name)}/taste${query(asked)}`);
  }

  /** A champion and its challenger or shadow, asked by either name: is it better, how sure is that, how long yet. */
  compare(name: string): Promise<Comparison> {
    return this.#json("GET", `${model(name)}/compare`);
  }

  /** What each candidate, label or answer of a filter earned, with intervals, the most shown first; `holdout` counts those of the holdout too. */
  async candidates(name: string, holdout = false): Promise<CandidateRow[]> {
    const asked = query(holdout ? { holdout: "true" } : {});
    return (await this.#json<{ candidates: CandidateRow[] }>("GET", `${model(name)}/candidates${asked}`)).candidates;
  }

  /** What a model is worth against its holdout: means, lift, verdict, and a check of the split. */
  worth(name: string): Promise<Worth> {
    return this.#json("GET", `${model(name)}/worth`);
  }

  /** What decisions earned by the value of a field of their records, e.g. `"context.device"`. */
  segments(name: string, by: string): Promise<Segments> {
    return this.#json("GET", `${model(name)}/segments${query({ by })}`);
  }

  /** Let the champion of this challenger, or shadow, decide with its settings and state from now on. */
  promote(name: string): Promise<Promoted> {
    return this.#once("POST", `${model(name)}:promote`);
  }

  /** Let an archived model decide again. */
  revive(name: string): Promise<Description> {
    return this.#json("POST", `${model(name)}:revive`);
  }

  /** Give an archived model another name, so that its own is free. */
  rename(name: string, to: string): Promise<Description> {
    return this.#once("POST", `${model(name)}:rename`, { to });
  }

  /** Fold events of this age into the model's base state and erase them; where the log begins now. */
  retain(name: string, olderThanS: number): Promise<Retained> {
    return this.#json("POST", `${model(name)}:retain`, { older_than_s: olderThanS });
  }

  /** Click events as search engines collect them (user behaviour insights), whose queries are decisions. */
  ubi(events: Ubi): Promise<UbiReply> {
    return this.#json("POST", "/v1/ubi", events);
  }

  /** No more decisions; the log stays, and feedback is taken until its window ends. */
  archive(name: string): Promise<Description> {
    return this.#json("DELETE", model(name));
  }

  /**
   * The model's events after one, in order, as they come; a connection that breaks is taken up where it broke. Of a model
   * with several shards: those of one, or of all, one shard after the other. Throws a ServiceError (code "log_damaged") at
   * an event that is missing, after all before it.
   */
  async *log(name: string, after = 0, asked: { shard?: number } = {}): AsyncGenerator<Event> {
    let { shard } = asked, attempt = 0;
    let seen = shard; // the shard of the latest event: where to go on
    for (;;) {
      try {
        for await (const event of this.#events(name, query({ after, shard }))) {
          [after, seen, attempt] = [event.seq, event.shard, 0];
          yield event;
        }
        if (shard === undefined || asked.shard !== undefined || ++shard >= ((await this.describe(name)).shards ?? 1)) return;
        [after, seen] = [0, shard];
      } catch (error) {
        if (!lost(error)) throw error;
        if (attempt >= this.#retries) throw gone(attempt, error);
        shard = seen;
        await sleep(pause(attempt++));
      }
    }
  }

  async *#events(name: string, asked: string): AsyncGenerator<Event> {
    const response = await this.#send("GET", `${model(name)}/log${asked}`, undefined, "", begun, false);
    let rest = "";
    const lines = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (;;) {
        const { done, value } = await lines.read();
        rest += value ?? "";
        const whole = rest.split("\n");
        rest = done ? "" : (whole.pop() as string);
        for (const line of whole) if (line) yield event(line);
        if (done) return;
      }
    } finally {
      await lines.cancel();
    }
  }

  /** All tokens without their secrets. */
  async tokens(): Promise<Token[]> {
    return (await this.#json<{ tokens: Token[] }>("GET", "/v1/tokens")).tokens;
  }

  /** Create a token; the reply has the secret as `token`, which is shown this once. */
  createToken(settings: TokenSettings): Promise<CreatedToken> {
    return this.#once("POST", "/v1/tokens", settings);
  }

  /** Revoke a token by its id: calls that come later are refused. */
  revokeToken(id: string): Promise<Token> {
    return this.#json("DELETE", `/v1/tokens/${encodeURIComponent(id)}`);
  }

  /** Whether the service can decide. */
  async ready(): Promise<boolean> {
    return (await this.#attempt("GET", "/readyz", undefined, "", AbortSignal.timeout(this.#timeout))).ok;
  }

  async #json<Reply>(method: string, path: string, body?: unknown, once = false, progress?: Progress): Promise<Reply> {
    return read(await this.#send(method, path, body === undefined ? undefined : JSON.stringify(body, plain), "application/json", whole, once, progress));
  }

  #once<Reply>(method: string, path: string, body?: unknown): Promise<Reply> {
    return this.#json(method, path, body, true);
  }

  #send<Reply>(method: string, path: string, body: Uint8Array | string | undefined, media: string, receive: (response: Response) => Promise<Reply>, once: boolean, progress?: Progress): Promise<Reply> {
    return patiently((signal) => this.#attempt(method, path, body, media, signal), once, receive, this.#retries, this.#timeout, progress);
  }

  #attempt(method: string, path: string, body: Uint8Array | string | undefined, media: string, signal: AbortSignal): Promise<Response> {
    const headers = body === undefined ? this.#headers : { ...this.#headers, "content-type": media };
    const content = body === undefined ? {} : { body: body as BodyInit };
    return this.#fetch(this.#base + path, { method, headers, signal, credentials: "same-origin", ...content });
  }
}

/** What may end a log before its end and passes: it is read on. */
const PASSING = new Set(["busy", "storage_failed"]);

/** An event of a log; or, in the last line, why the log cannot be read further. */
function event(line: string): Event {
  const found = JSON.parse(line) as Event & { error?: unknown };
  if (found.seq === undefined && found.error !== undefined) {
    const refused = refusal(500, line);
    throw PASSING.has(refused.code) ? new TypeError(refused.problem) : refused; // as a lost connection
  }
  return found;
}

type Versioned = { model_version: number };

/** A reply without its body, which is read as it comes. */
async function begun(response: Response): Promise<Response> {
  if (!response.ok) throw refusal(response.status, await response.text());
  return response;
}

/** The whole body of a reply. */
async function whole(response: Response): Promise<string> {
  const text = await response.text();
  if (!response.ok) throw refusal(response.status, text);
  return text;
}

function read<Reply>(text: string): Reply {
  try {
    return JSON.parse(text) as Reply;
  } catch {
    throw refusal(502, text);
  }
}

function id(decided: Decided): string {
  return typeof decided === "string" ? decided : decided.decision;
}

function decision(decided: Decided): string {
  return `/v1/decisions/${encodeURIComponent(id(decided))}`;
}

function model(name: string): string {
  return `/v1/models/${encodeURIComponent(name)}`;
}

function query(asked: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

/** Typed arrays, such as embeddings, as arrays of numbers. */
function plain(_: string, value: unknown): unknown {
  return ArrayBuffer.isView(value) && !(value instanceof DataView) ? Array.from(value as unknown as ArrayLike<number>) : value;
}
