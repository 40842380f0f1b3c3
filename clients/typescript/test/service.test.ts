/** Against a real service: every call, every loop, a kill in between. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, ServiceError, matrix, type Answer } from "../src/index.js";
import { Service } from "./service.js";

let service: Service;
let client: Client;

before(async () => {
  service = await Service.start();
  client = new Client(service.url);
});
after(() => service.stop());

const banners = [{ id: "red", features: { size: 3 } }, { id: "blue", features: { size: 1 } }];

test("choose by reward: three calls, and the weights by name", async () => {
  const banner = await client.create("banner", { loop: "choose", feedback: "reward" });
  const d = await banner.decide({ candidates: banners, context: { device: "ios" } });
  assert.ok(["red", "blue"].includes(String(d.choice)));
  const shares = Object.values(d.propensities ?? {});
  assert.ok(Math.abs(shares.reduce((a, b) => a + b, 0) - 1) < 1e-9);
  assert.deepEqual(await banner.learn(d, { reward: 1 }), { status: "learnt", model_version: 1 });
  assert.deepEqual(await banner.learn(d, { reward: 1 }), { status: "duplicate", model_version: 1 });
  const names = (await banner.weights({ limit: 50 })).map(({ name }) => name);
  assert.ok(names.includes(`id=${d.choice}`), names.join());
  const story = await banner.story(d);
  assert.equal(story.learnt_version, 1);
  assert.ok((story.contributions_now?.items.length ?? 0) > 0);
});

test("rank, label, filter and tune close their loops", async () => {
  const rank = await client.create("search", { loop: "rank" });
  const ranked = await rank.decide({ candidates: [{ id: 7, features: { topic: "art" } }, { id: 8, features: { topic: "cars" } }], top: 2 });
  assert.deepEqual([...(ranked.ranking ?? [])].sort(), [7, 8]);
  assert.equal((await rank.learn(ranked, { clicked: [8] })).status, "learnt");

  const label = await client.create("mail", { loop: "label", labels: ["spam", "ham"] });
  const decided = await label.decide({ features: { title: "cheap flights", length: 40 } });
  assert.ok(["spam", "ham"].includes(decided.label ?? ""));
  assert.equal((await label.learn(decided, { correct: true })).status, "learnt");

  const filter = await client.create("alerts", { loop: "filter" });
  const forwarded = await filter.decide({ features: { level: "high" } });
  assert.equal(typeof forwarded.forward, "boolean");
  if (forwarded.forward) assert.equal((await filter.learn(forwarded, { relevant: true })).status, "learnt");

  const tune = await client.create("knobs", { loop: "tune", params: { space: { type: "Box", low: [0, 0], high: [1, 1] } } });
  const point = await tune.decide();
  assert.equal(point.point?.length, 2);
  assert.equal((await tune.learn(point, { loss: 0.3 })).status, "learnt");
});

test("many at once, in order, also as a matrix", async () => {
  const model = await client.create("many", { loop: "label", labels: ["a", "b"], features: ["x", "y"] });
  const decided = await model.decideMany(matrix([[1, 0], [0, 1], [1, 1]]));
  assert.equal(decided.length, 3);
  const results = await client.learnMany([
    ...decided.map((decision) => ({ decision, correct: true })),
    { decision: "nobody", correct: true },
  ]);
  assert.deepEqual(results.slice(0, 3).map((each) => "status" in each && each.status), ["learnt", "learnt", "learnt"]);
  assert.equal("error" in results[3]! && results[3].error.code, "unknown_decision");
  const again = await model.decideMany([{ features: [1, 0] }, { features: [0, 1] }]);
  assert.equal(new Set(again.map(({ decision }) => decision)).size, 2);
});

test("the life of a model: amend, copy, teach, log, retract, rollback, forget, archive", async () => {
  const model = await client.create("life", { loop: "label", labels: ["a", "b"], keyed: true });
  assert.deepEqual(await model.teach([{ features: { x: 1 }, answer: "a" }], { key: "ann", id: "history" }), { taught: 1, model_version: 1 });
  assert.ok((await model.amend({ add_labels: ["c"] })).labels?.includes("c"));
  const d = await model.decide({ key: "ann", features: { x: 2 } });
  await model.learn(d, { correct: false });
  assert.equal(await client.retract(d), 3);
  assert.equal(await client.rollback("life", 1), 4);
  const kinds = [];
  for await (const event of model.log()) kinds.push(event.type);
  for (const kind of ["created", "taught", "amended", "decision", "feedback", "retracted", "rolled_back"]) assert.ok(kinds.includes(kind), kinds.join());
  assert.equal((await client.copy("life", "life-2")).name, "life-2");
  assert.ok((await client.forget("life", "ann")) > 0);
  await model.archive();
  await assert.rejects(model.decide({ key: "ann", features: { x: 1 } }), ServiceError);
  assert.ok((await client.models()).some(({ name }) => name === "life-2"));
  assert.ok(Array.isArray(await client.health("life-2")));
  assert.ok(await client.ready());
});

test("a log makes a model again", async () => {
  const lines: string[] = [];
  for await (const event of client.log("banner")) lines.push(JSON.stringify(event));
  const brought = await client.bring("banner-2", lines.join("\n") + "\n", "application/x-ndjson");
  assert.equal(brought.model_version, (await client.describe("banner")).model_version);
});

test("what must be activated counts once it was shown", async () => {
  const model = await client.create("later", { loop: "choose", feedback: "reward", default_reward: 0 });
  const d = await model.decide({ candidates: banners, activate: false });
  assert.equal(await client.shown(d), "shown");
  assert.equal(await client.shown(d), "duplicate");
});

test("a challenger answers a share, is compared, and is promoted", async () => {
  await client.create("champion", { loop: "choose", feedback: "reward" });
  await client.create("rival", { loop: "choose", feedback: "reward", learner: "SquareCB", challenger_of: { model: "champion", share: 0.5 } });
  const d = await client.decide("champion", { candidates: banners });
  await client.learn(d, { reward: 1 });
  const compared = await client.compare("champion");
  assert.deepEqual([compared.champion, compared.challenger, compared.verdict], ["champion", "rival", "not yet"]);
  await client.promote("rival");
  assert.equal((await client.describe("champion")).learner, "SquareCB");
});

test("a name is freed, and its model lives again", async () => {
  await client.create("old", { loop: "filter" });
  await client.archive("old");
  assert.equal((await client.rename("old", "older")).name, "older");
  assert.equal((await client.revive("older")).archived_at, null);
});

test("tokens are created, listed and revoked, and shown once", async () => {
  const closed = await Service.start();
  try {
    const { token } = await new Client(closed.url).createToken({ scopes: ["admin"] });
    const admin = new Client(closed.url, { token });
    const made = await admin.createToken({ scopes: ["read"], name: "Grafana", expires: "30d" });
    const reader = new Client(closed.url, { token: made.token });
    assert.deepEqual(await reader.models(), []);
    await assert.rejects(reader.create("m", { loop: "choose" }), (error: unknown) => error instanceof ServiceError && error.status === 403);
    assert.ok((await admin.tokens()).some(({ id, name }) => id === made.id && name === "Grafana"));
    assert.ok((await admin.revokeToken(made.id)).revoked_at !== null);
    await assert.rejects(reader.models(), (error: unknown) => error instanceof ServiceError && error.status === 401);
  } finally {
    await closed.stop();
  }
});

test("drafts are chosen, and edits give a taste", async () => {
  const reply = await client.create("reply", { loop: "draft" });
  const d = await reply.decide({ drafts: [{ id: "long", text: "Dear all, I hope this finds you well!" }, { id: "short", text: "Done." }] });
  assert.equal((await reply.learn(d, { edited: "Done, thanks." })).status, "learnt");
  assert.ok(Array.isArray((await client.taste("reply")).taste));
});

test("an error names the field and has a hint", async () => {
  await assert.rejects(client.decide("banner", { candidates: [{ id: "a" }, { id: "a" }] }), (error: unknown) => {
    assert.ok(error instanceof ServiceError && error.status === 422 && error.hint.length > 0);
    return true;
  });
  await assert.rejects(client.describe("nobody"), { status: 404, code: "unknown_model" });
});

test("a service that is killed while it is asked decides once", async () => {
  const patient = new Client(service.url, { retries: 12 });
  const model = await patient.create("killed", { loop: "choose", feedback: "reward" });
  const id = "the-one";
  const first = await model.decide({ id, candidates: banners });
  await service.kill();
  const asked: Promise<Answer> = model.decide({ id, candidates: banners });
  const learnt = patient.learn(first, { reward: 0.5 });
  await service.up();
  assert.equal((await asked).decision, first.decision);
  assert.equal((await learnt).status, "learnt");
  assert.equal((await model.describe()).decisions, 1);
});
