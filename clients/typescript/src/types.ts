/** The service's own types, by the names that this client uses. They are made from its OpenAPI document. */
import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];

/** What JSON can say of a thing: numbers, words, yes or no, lists of words, vectors of numbers, objects, nothing. */
export type Value = number | string | boolean | null | readonly Value[] | Float32Array | Float64Array | { readonly [name: string]: Value };
/** A record: fields by name. `device: { os: "ios" }` is the feature `device.os=ios`. */
export type Features = { readonly [name: string]: Value };
/** The id of a candidate; it comes back as it was given. */
export type Id = string | number;

/** Numbers in the order of a model's `features`. */
export type Numbers = readonly number[] | Float32Array | Float64Array;
/** One of the things to rank or to choose from; under a budget with what it costs, by currency. */
export type Candidate = { readonly id: Id; readonly features?: Features | Numbers; readonly costs?: Readonly<Record<string, number>> };
/** Candidates whose features are the rows of a matrix: made by `matrix`. */
export type CompactCandidates = { readonly ids: readonly Id[]; readonly features: Compact };
/** A matrix of float32 numbers in base64: a third of the bytes, and quicker to read. */
export type Compact = { readonly shape: readonly [number, number]; readonly f32: string };

/** A place to fill with one of the candidates. */
export type Slot = { readonly id: string; readonly features?: Features; readonly exclude?: readonly Id[] };

/** Settings of a model: `loop` says what goes out; all else may be left out. */
export type Settings = Partial<Omit<Schemas["ModelBody"], "loop">> & { loop: string };
/** A request for a decision; which fields belong depends on the loop. An `id` is made if you give none. */
export type Request = Readonly<Record<string, unknown>> & {
  readonly id?: string;
  readonly key?: string;
  readonly candidates?: readonly Candidate[] | CompactCandidates;
  readonly context?: Features;
  readonly features?: Features | Numbers;
  readonly top?: number;
  readonly exclude?: readonly Id[];
  readonly slots?: readonly Slot[];
  readonly unit?: string;
  readonly activate?: boolean;
  /** What the app has chosen itself: of slots, one id for each. */
  readonly chosen?: Id | boolean | readonly Id[];
};
/** A decision: its id, the version that decided, and the answer of its loop. */
export type Answer = operations["decide"]["responses"][201]["content"]["application/json"];
/** What people did: one field, which the loop names; next to it or alone `costs`, the `id` of a report, `final`. */
export type Feedback = Readonly<Partial<Schemas["FeedbackBody"]>>;
/** What became of feedback. */
export type Learnt = Schemas["FeedbackReply"];
/** Of feedback in a batch: what became of it, or why it was refused. */
export type Result = Learnt | { error: Problem };
/** An error: its code, a message, and a hint. */
export type Problem = Schemas["ErrorDetail"];
/** A model at a glance: settings, version, counts, quality. */
export type Description = Schemas["ModelReply"];
/** A decision from beginning to end. */
export type Story = Schemas["Story"];
/** A weight under its name. */
export type Weight = Schemas["Weight"];
/** Something about a model that its owner should know. */
export type Finding = Schemas["Finding"];
/** A change to a model that lives. */
export type Changes = Partial<Schemas["AmendBody"]>;
/** What a request holds, with the answer that is known to be right. */
export type Example = Readonly<Record<string, unknown>> & { readonly answer: unknown };
/** An event of a model's log. */
export type Event = Readonly<Record<string, unknown>> & { readonly seq: number; readonly type: string; readonly shard?: number };
/** What a user's edits say: in sentences, and by trait. */
export type Taste = Schemas["TasteReply"];
/** A champion, and its challenger or shadow. */
export type Comparison = Schemas["CompareReply"];
/** What a candidate earned. */
export type CandidateRow = Schemas["CandidateRow"];
/** What decisions earned by the value of a field. */
export type Segments = Schemas["SegmentsReply"];
export type Worth = Schemas["WorthReply"];
/** What a promotion came to. */
export type Promoted = Schemas["PromotedReply"];
/** Click events of search engines: one, several, or several in an object. */
export type Ubi = operations["takeUbiEvents"]["requestBody"]["content"]["application/json"];
/** What became of click events. */
export type UbiReply = Schemas["UbiReply"];
/** What a token is created with: scopes, and a name, a model, an expiry ("30d", "2026-12-31"). */
export type TokenSettings = Pick<Schemas["TokenBody"], "scopes"> & Partial<Schemas["TokenBody"]>;
/** A token without its secret. */
export type Token = Schemas["TokenReply"];
/** A token that was just created, with its secret. */
export type CreatedToken = Schemas["CreatedTokenReply"];
/** Where a log begins, once its oldest events were folded. */
export type Retained = Schemas["RetainedReply"];
