/** A model of a service: `decide` and `learn`. */
import type { Client, Decided } from "./client.js";
import type {
  Answer, CandidateRow, Changes, Compact, Comparison, Description, Event, Example, Features, Feedback, Finding, Learnt, Promoted, Request, Segments, Story, Taste, Weight, Worth,
} from "./types.js";

export class Model {
  constructor(
    readonly client: Client,
    readonly name: string,
  ) {}

  /** Ask for a decision. */
  decide(request: Request = {}): Promise<Answer> {
    return this.client.decide(this.name, request);
  }

  /** Ask for many decisions in one call. */
  decideMany(given: readonly Request[] | Compact, options: { key?: string } = {}): Promise<Answer[]> {
    return this.client.decideMany(this.name, given, options);
  }

  /** Tell what people did. */
  learn(decided: Decided, feedback: Feedback): Promise<Learnt> {
    return this.client.learn(decided, feedback);
  }

  /** A decision from beginning to end. */
  story(decided: Decided): Promise<Story> {
    return this.client.story(decided);
  }

  /** Names and weights, strongest first. */
  weights(asked: { key?: string; limit?: number; expand?: string } = {}): Promise<Weight[]> {
    return this.client.weights(this.name, asked);
  }

  /** What was found about it. */
  health(): Promise<Finding[]> {
    return this.client.health(this.name);
  }

  /** Settings, version, counts, quality. */
  describe(asked: { context?: Features } = {}): Promise<Description> {
    return this.client.describe(this.name, asked);
  }

  /** Of tune: the best setting so far, in a context or without, and the loss expected there; null while nothing is known. */
  async best(context?: Features): Promise<Description["best"]> {
    return (await this.describe(context === undefined ? {} : { context })).best;
  }

  /** What it is worth against its holdout. */
  worth(): Promise<Worth> {
    return this.client.worth(this.name);
  }

  /** What each candidate, label or answer earned. */
  candidates(holdout = false): Promise<CandidateRow[]> {
    return this.client.candidates(this.name, holdout);
  }

  /** What decisions earned by the value of a field of their records. */
  segments(by: string): Promise<Segments> {
    return this.client.segments(this.name, by);
  }

  /** Compared with its challenger or shadow, or with its champion. */
  compare(): Promise<Comparison> {
    return this.client.compare(this.name);
  }

  /** Let its champion decide with its settings and state from now on. */
  promote(): Promise<Promoted> {
    return this.client.promote(this.name);
  }

  /** What its users' edits say. */
  taste(asked: { key?: string } = {}): Promise<Taste> {
    return this.client.taste(this.name, asked);
  }

  /** Forget a key exactly; how many events were erased. */
  forget(key: string): Promise<number> {
    return this.client.forget(this.name, key);
  }

  /** Undo what was learned of a decision; the model's version. */
  retract(decided: Decided): Promise<number> {
    return this.client.retract(decided);
  }

  /** Let a decision count that was asked for with `activate: false`. */
  shown(decided: Decided): Promise<"shown" | "duplicate" | "late"> {
    return this.client.shown(decided);
  }

  /** Go back to the weights of a version, or of a moment; the version that this makes. */
  rollback(to: number | { readonly time: string | number }): Promise<number> {
    return this.client.rollback(this.name, to);
  }

  /** Make a copy of it under another name, with or without what it has learned. */
  copy(to: string, options: { learnt?: boolean } = {}): Promise<Description> {
    return this.client.copy(this.name, to, options);
  }

  /** Teach examples whose answers are known. */
  teach(examples: readonly Example[], options: { key?: string; id?: string } = {}): Promise<{ taught: number; model_version: number }> {
    return this.client.teach(this.name, examples, options);
  }

  /** Change it while it lives. */
  amend(changes: Changes): Promise<Description> {
    return this.client.amend(this.name, changes);
  }

  /** Its events after one. */
  log(after = 0, asked: { shard?: number } = {}): AsyncGenerator<Event> {
    return this.client.log(this.name, after, asked);
  }

  /** No more decisions. */
  archive(): Promise<Description> {
    return this.client.archive(this.name);
  }
}
