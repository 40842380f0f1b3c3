/** The published OpenFeature provider for pages, unchanged, against our door: all flags at once. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";
import { OpenFeature } from "@openfeature/web-sdk";
import { start } from "./service.mjs";

let service;

before(async () => {
  service = await start();
  const body = JSON.stringify({ loop: "choose", feedback: "reward", candidates: [{ id: "teal" }, { id: "red" }] });
  await fetch(`${service.url}/v1/models/button`, { method: "PUT", headers: { "content-type": "application/json" }, body });
});
after(async () => {
  await OpenFeature.close();
  await service.stop();
});

test("a page evaluates from one answer", async () => {
  await OpenFeature.setContext({ targetingKey: "ann", device: "ios" });
  await OpenFeature.setProviderAndWait(new OFREPWebProvider({ baseUrl: service.url, pollInterval: 0 }));
  const details = OpenFeature.getClient().getStringDetails("button", "grey");
  assert.ok(["teal", "red"].includes(details.value), JSON.stringify(details));
  assert.equal(typeof details.flagMetadata.decision, "string");
  assert.equal(OpenFeature.getClient().getStringDetails("button", "grey").value, details.value);
  assert.equal(OpenFeature.getClient().getStringValue("nobody", "grey"), "grey");
});
