/** The published npm client of the retired hosted product, unchanged, against our door. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import personalizer from "@azure/cognitiveservices-personalizer";
import rest from "@azure/ms-rest-js";
import { start } from "./service.mjs";

let service;
let client;

before(async () => {
  service = await start();
  const credentials = new rest.ApiKeyCredentials({ inHeader: { "Ocp-Apim-Subscription-Key": "any" } });
  client = new personalizer.PersonalizerClient(credentials, service.url);
});
after(() => service.stop());

const actions = [
  { id: "pasta", features: [{ taste: "salty", spice: "medium" }, { nutrition: 5 }] },
  { id: "ice-cream", features: [{ taste: "sweet", spice: "none" }] },
  { id: "juice", features: [{ taste: "sweet" }, { sizes: [1, 2] }] },
];

test("rank, activate, reward", async () => {
  const reply = await client.rank({ eventId: "e1", actions, contextFeatures: [{ time: "morning" }], excludedActions: ["juice"], deferActivation: true });
  assert.equal(reply.eventId, "e1");
  assert.ok(["pasta", "ice-cream"].includes(reply.rewardActionId));
  assert.deepEqual(reply.ranking.map(({ id }) => id).sort(), ["ice-cream", "juice", "pasta"]);
  assert.deepEqual([reply.ranking[2].id, reply.ranking[2].probability], ["juice", 0]);
  assert.equal(reply.ranking[0].id, reply.rewardActionId);
  assert.ok(Math.abs(reply.ranking.reduce((sum, { probability }) => sum + probability, 0) - 1) < 1e-9);
  await client.events.activate("e1");
  await client.events.reward("e1", { value: 1 });
  await client.events.reward("e1", { value: 0.5 });
  const model = await (await fetch(`${service.url}/v1/models/personalizer`)).json();
  assert.deepEqual([model.model_version, model.decisions], [1, 1]);
});

test("an event id is made where none is given", async () => {
  const reply = await client.rank({ actions });
  assert.ok(reply.eventId.length > 0);
  await client.events.reward(reply.eventId, { value: -1 });
});

test("refusals have the product's shape", async () => {
  await assert.rejects(client.events.reward("nobody", { value: 1 }), (error) => {
    assert.equal(error.statusCode, 404);
    assert.equal(error.body.error.code, "ResourceNotFound");
    return true;
  });
  await assert.rejects(client.rank({ actions: [] }), (error) => error.statusCode === 400 && error.body.error.code === "BadRequest");
});
