/**
 * Ask a smidgen service for decisions, and tell it what people did.
 *
 * ```ts
 * const client = new Client("http://127.0.0.1:8470");
 * const banner = await client.create("banner", { loop: "choose", feedback: "reward" });
 * const d = await banner.decide({ candidates: [{ id: "a" }, { id: "b" }], context: { device: "ios" } });
 * await banner.learn(d, { reward: 1 });
 * ```
 */
export { Client } from "./client.js";
export type { Decided, Options } from "./client.js";
export { matrix } from "./compact.js";
export { ServiceError, Unreachable } from "./errors.js";
export { Model } from "./model.js";
export type { Progress } from "./patience.js";
export type * from "./types.js";
export type { components, operations, paths } from "./schema.js";
