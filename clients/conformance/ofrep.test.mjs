/** The published OpenFeature provider for Node, unchanged, against our door. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature } from "@openfeature/server-sdk";
import { start } from "./service.mjs";

let service;
let flags;

async function send(method, path, body) {
  const response = await fetch(service.url + path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  return response.json();
}

before(async () => {
  service = await start();
  await send("PUT", "/v1/models/button", { loop: "choose", feedback: "reward", candidates: [{ id: "teal" }, { id: "red" }] });
  await send("PUT", "/v1/models/beta", { loop: "choose", feedback: "reward", keyed: true, candidates: [{ id: "on", value: true }, { id: "off", value: false }] });
  await send("PUT", "/v1/models/size", { loop: "choose", feedback: "reward", candidates: [{ id: "small", value: 12 }, { id: "large", value: 16 }] });
  await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: service.url }));
  flags = OpenFeature.getClient();
});
after(async () => {
  await OpenFeature.close();
  await service.stop();
});

test("a flag is a decision, and a reward teaches it", async () => {
  const details = await flags.getStringDetails("button", "grey", { targetingKey: "ann", device: "ios" });
  assert.ok(["teal", "red"].includes(details.value));
  assert.equal(details.variant, details.value);
  assert.equal(details.reason, "SPLIT");
  const learnt = await send("POST", `/v1/decisions/${details.flagMetadata.decision}/feedback`, { reward: 1 });
  assert.equal(learnt.status, "learnt");
});

test("values of other kinds, and one learner per targeting key", async () => {
  assert.equal(typeof (await flags.getBooleanValue("beta", false, { targetingKey: "ann" })), "boolean");
  assert.ok([12, 16].includes(await flags.getNumberValue("size", 0, { targetingKey: "ann" })));
  const without = await flags.getBooleanDetails("beta", false, {});
  assert.deepEqual([without.value, without.errorCode], [false, "TARGETING_KEY_MISSING"]);
});

test("what is no flag gives the default", async () => {
  const details = await flags.getStringDetails("nobody", "grey", { targetingKey: "ann" });
  assert.deepEqual([details.value, details.errorCode], ["grey", "FLAG_NOT_FOUND"]);
});
