/** The published npm client of the product's preview, unchanged: multi-slot calls and the service configuration. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import personalizer from "@azure-rest/ai-personalizer";
import { start } from "./service.mjs";

let service;
let client;

before(async () => {
  service = await start();
  const make = personalizer.default ?? personalizer;
  client = make(service.url, { key: "any" }, { allowInsecureConnection: true });
});
after(() => service.stop());

const actions = [
  { id: "pasta", features: [{ taste: "salty", spice: "medium" }, { nutrition: 5 }] },
  { id: "ice-cream", features: [{ taste: "sweet", spice: "none" }] },
  { id: "juice", features: [{ taste: "sweet" }, { sizes: [1, 2] }] },
];
const slots = [
  { id: "hero", baselineAction: "pasta", features: [{ size: "large" }, { place: "top" }] },
  { id: "side", baselineAction: "juice", excludedActions: ["pasta"] },
];

test("rank, activate and reward several slots", async () => {
  const body = { eventId: "page", contextFeatures: [{ time: "morning" }], actions, slots, deferActivation: true };
  const reply = await client.path("/multislot/rank").post({ body });
  assert.equal(reply.status, "201");
  assert.equal(reply.body.eventId, "page");
  assert.deepEqual(reply.body.slots.map(({ id }) => id), ["hero", "side"]);
  const [hero, side] = reply.body.slots.map(({ rewardActionId }) => rewardActionId);
  assert.notEqual(hero, side);
  assert.notEqual(side, "pasta");
  const shown = await client.path("/multislot/events/{eventId}/activate", "page").post();
  assert.equal(shown.status, "204");
  for (const reward of [[{ slotId: "hero", value: 1 }], [{ slotId: "side", value: -0.5 }, { slotId: "hero", value: 0 }]]) {
    const taken = await client.path("/multislot/events/{eventId}/reward", "page").post({ body: { reward } });
    assert.equal(taken.status, "204");
  }
  const model = await (await fetch(`${service.url}/v1/models/personalizer`)).json();
  assert.deepEqual([model.model_version, model.decisions], [1, 1]);
});

test("one slot in the same version", async () => {
  const reply = await client.path("/rank").post({ body: { eventId: "one", actions } });
  assert.equal(reply.status, "201");
  assert.equal((await client.path("/events/{eventId}/reward", "one").post({ body: { value: 0.5 } })).status, "204");
});

test("the service configuration", async () => {
  const known = await client.path("/configurations/service").get();
  assert.equal(known.status, "200");
  assert.equal(known.body.rewardWaitTime, "PT600S");
  const body = { ...known.body, rewardWaitTime: "PT30M", explorationPercentage: 0.1 };
  const changed = await client.path("/configurations/service").put({ body });
  assert.equal(changed.status, "200");
  const model = await (await fetch(`${service.url}/v1/models/personalizer`)).json();
  assert.deepEqual([model.window_s, model.explore], [1800, 0.1]);
});

test("refusals have the product's shape", async () => {
  const unknown = await client.path("/multislot/events/{eventId}/reward", "nobody").post({ body: { reward: [{ slotId: "a", value: 1 }] } });
  assert.deepEqual([unknown.status, unknown.body.error.code], ["404", "ResourceNotFound"]);
  const wrong = await client.path("/multislot/rank").post({ body: { actions, slots: [] } });
  assert.deepEqual([wrong.status, wrong.body.error.code], ["400", "BadRequest"]);
});
