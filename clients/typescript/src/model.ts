/** A model of a service: `decide` and `learn`. */
import type { Client, Decided } from "./client.js";
import type { Answer, Changes, Compact, Description, Event, Example, Features, Feedback, Finding, Learnt, Request, Story, Weight } from "./types.js";

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
