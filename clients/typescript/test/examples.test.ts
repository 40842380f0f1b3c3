/** The examples, as people would run them: an Express app, and a page in Chromium behind its proxy. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { Client } from "../src/index.js";
import { Service } from "./service.js";

const EXAMPLES = new URL("../../examples/", import.meta.url);
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));

let service: Service;

before(async () => {
  service = await Service.start();
});
after(() => service.stop());

async function listening(server: Server): Promise<string> {
  if (!server.listening) await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("the Express app ranks, and learns from a click", async () => {
  const { app } = (await import(new URL("express.mjs", EXAMPLES).href)) as { app(client: Client): Promise<{ listen(port: number, host: string): Server }> };
  const client = new Client(service.url);
  const server = (await app(client)).listen(0, "127.0.0.1");
  try {
    const url = await listening(server);
    const front = (await (await fetch(`${url}/front`)).json()) as { decision: string; articles: string[] };
    assert.deepEqual([...front.articles].sort(), ["cup", "flood", "vote"]);
    const learnt = await fetch(`${url}/clicked/${front.decision}/${front.articles[2]}`, { method: "POST" });
    assert.equal(((await learnt.json()) as { status: string }).status, "learnt");
    assert.equal((await client.describe("front-page")).model_version, 1);
  } finally {
    server.close();
  }
});

test("a page asks and tells through a proxy of its own origin", { skip: CHROMIUM ? false : "Chromium is not installed" }, async () => {
  const { chromium } = await import("playwright-core");
  const { proxy } = (await import(new URL("proxy.mjs", EXAMPLES).href)) as { proxy(url: string, token?: string): Server };
  await new Client(service.url).create("colour", { loop: "choose", feedback: "reward" });
  const server = proxy(service.url).listen(0, "127.0.0.1");
  const flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
  const browser = await chromium.launch({ executablePath: CHROMIUM as string, args: flags });
  try {
    const url = await listening(server);
    const page = await browser.newPage();
    const wrong: string[] = [];
    page.on("pageerror", (error) => wrong.push(String(error)));
    await page.goto(url);
    await page.getByText("shown with probability").waitFor();
    await page.locator("#go").click();
    await page.getByText("learnt: version 1").waitFor();
    await page.locator("#next").click();
    await page.getByText("shown with probability").waitFor();
    assert.deepEqual(wrong, []);
    assert.equal((await fetch(`${url}/v1/models/colour`, { method: "DELETE" })).status, 403);
    assert.equal((await fetch(`${url}/..%2f..%2fpackage.json`)).status, 404);
  } finally {
    await browser.close();
    server.close();
  }
});
