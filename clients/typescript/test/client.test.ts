/** What needs no service: when it tries again, what it sends, what it refuses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, ServiceError, Unreachable, matrix } from "../src/index.js";

type Sent = { url: string; init: RequestInit };

function scripted(...replies: (Response | Error)[]): { fetch: typeof fetch; sent: Sent[] } {
  const sent: Sent[] = [];
  const answer = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    sent.push({ url: String(url), init: init ?? {} });
    const reply = replies.shift();
    if (reply === undefined) throw new Error("sent more often than expected");
    if (reply instanceof Error) throw reply;
    return reply;
  };
  return { fetch: answer as typeof fetch, sent };
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response => new Response(JSON.stringify(body), { status, headers });
const refused = (code: string): unknown => ({ error: { code, message: "it cannot be", hint: "do otherwise" } });

test("a lost connection and a 503 are tried again with the same idempotency id", async () => {
  const { fetch, sent } = scripted(new TypeError("fetch failed"), json(503, refused("busy")), json(201, { decision: "d" }));
  const answer = await new Client("http://here", { fetch }).decide("m", { features: { a: 1 } });
  assert.equal(answer.decision, "d");
  const ids = sent.map(({ init }) => (JSON.parse(String(init.body)) as { id: string }).id);
  assert.equal(ids.length, 3);
  assert.equal(new Set(ids).size, 1);
});

const torn = (): Response => new Response(new ReadableStream({
  start(controller) {
    controller.enqueue(new TextEncoder().encode('{"decision":'));
    controller.error(new TypeError("terminated"));
  },
}), { status: 201 });

test("a connection that is lost in the middle of a reply is tried again", async () => {
  const { fetch, sent } = scripted(torn(), json(201, { decision: "d" }));
  assert.equal((await new Client("http://here", { fetch }).decide("m")).decision, "d");
  assert.equal(sent.length, 2);
  assert.equal(sent[0]!.init.body, sent[1]!.init.body);
});

test("what would be done twice is sent once, unless it was not sent at all", async () => {
  for (const fault of [new TypeError("fetch failed"), torn(), json(502, refused("busy"))]) {
    const { fetch, sent } = scripted(fault);
    const model = new Client("http://here", { fetch }).model("m");
    await assert.rejects(model.rollback(3), ServiceError);
    assert.equal(sent.length, 1);
  }
  const { fetch } = scripted(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } }), json(503, refused("busy")), json(200, { model_version: 4 }));
  assert.equal(await new Client("http://here", { fetch }).model("m").rollback(3), 4);
});

test("an id of one's own is kept, and a new one is made for each decision", async () => {
  const { fetch, sent } = scripted(...[1, 2, 3].map(() => json(201, { decision: "d" })));
  const client = new Client("http://here", { fetch });
  await client.decide("m", { id: "mine" });
  await client.decide("m");
  await client.decide("m");
  const ids = sent.map(({ init }) => (JSON.parse(String(init.body)) as { id: string }).id);
  assert.equal(ids[0], "mine");
  assert.equal(new Set(ids).size, 3);
});

test("a refusal is typed, has a hint, and is not tried again", async () => {
  const { fetch, sent } = scripted(json(422, refused("impossible")));
  await assert.rejects(new Client("http://here", { fetch }).learn("d", { reward: 7 }), (error: unknown) => {
    assert.ok(error instanceof ServiceError);
    assert.deepEqual([error.status, error.code, error.hint], [422, "impossible", "do otherwise"]);
    assert.match(error.message, /it cannot be; do otherwise/);
    return true;
  });
  assert.equal(sent.length, 1);
});

test("what cannot be reached is said so after the last attempt", async () => {
  const { fetch, sent } = scripted(new TypeError("fetch failed"), new TypeError("fetch failed"));
  await assert.rejects(new Client("http://here", { fetch, retries: 1 }).models(), Unreachable);
  assert.equal(sent.length, 2);
});

test("Retry-After is respected", async () => {
  const { fetch } = scripted(json(429, refused("busy"), { "retry-after": "1" }), json(200, { models: [] }));
  const before = performance.now();
  await new Client("http://here", { fetch }).models();
  assert.ok(performance.now() - before >= 990);
});

test("an answer of something else is not taken for a decision", async () => {
  const { fetch } = scripted(new Response("<html>", { status: 200 }), new Response("<html>", { status: 404 }));
  const client = new Client("http://here", { fetch });
  await assert.rejects(client.decide("m"), { code: "not_smidgen" });
  await assert.rejects(client.decide("m"), { code: "not_smidgen", status: 404 });
});

test("names and keys are never paths", async () => {
  const { fetch, sent } = scripted(json(200, { forgotten: 3 }));
  assert.equal(await new Client("http://here/", { fetch }).forget("a/b", "../x?y"), 3);
  assert.equal(sent[0]?.url, "http://here/v1/models/a%2Fb/keys/..%2Fx%3Fy");
});

test("the token goes in its header, and only then", async () => {
  const { fetch, sent } = scripted(json(200, { models: [] }), json(200, { models: [] }));
  await new Client("http://here", { fetch, token: "secret" }).models();
  await new Client("http://here", { fetch }).models();
  const headers = sent.map(({ init }) => new Headers(init.headers).get("authorization"));
  assert.deepEqual(headers, ["Bearer secret", null]);
});

test("an address must be one", () => {
  for (const wrong of ["127.0.0.1:8470", "ftp://x", "http:///"]) assert.throws(() => new Client(wrong), TypeError);
});

test("a matrix is little-endian float32, row by row", () => {
  const encoded = matrix([[1, -2], new Float64Array([0.5, 3])]);
  assert.deepEqual(encoded.shape, [2, 2]);
  const bytes = Uint8Array.from(atob(encoded.f32), (c) => c.charCodeAt(0));
  assert.deepEqual([...new Float32Array(bytes.buffer)], [1, -2, 0.5, 3]);
  assert.equal(matrix([new Float32Array(40_000)]).shape[1], 40_000);
  for (const wrong of [[], [[]], [[1], [1, 2]], [[NaN]], [[1e300]]]) assert.throws(() => matrix(wrong), TypeError);
});

test("a log of which an event is missing is read up to there, and then refused", async () => {
  const lines = [{ seq: 1, type: "created" }, { seq: 2, type: "decision" }, refused("log_damaged")];
  const { fetch } = scripted(new Response(lines.map((line) => `${JSON.stringify(line)}\n`).join("")));
  const seen: number[] = [];
  await assert.rejects(
    async () => {
      for await (const event of new Client("http://here", { fetch }).log("m")) seen.push(event.seq);
    },
    (error: unknown) => error instanceof ServiceError && error.code === "log_damaged",
  );
  assert.deepEqual(seen, [1, 2]);
});

/** These lines, and then a connection that is lost. */
const cut = (text: string): Response => new Response(new ReadableStream({
  pull(controller) {
    if (text) controller.enqueue(new TextEncoder().encode(text));
    else controller.error(new TypeError("terminated"));
    text = "";
  },
}));
const lines = (...events: unknown[]): string => events.map((event) => `${JSON.stringify(event)}\n`).join("");
const at = (seq: number, shard?: number): unknown => ({ seq, type: "decision", shard });

test("a log is taken up where it broke", async () => {
  const { fetch, sent } = scripted(
    cut(`${lines(at(1), at(2))}{"seq": 3, "ty`), new TypeError("fetch failed"), new Response(lines(at(3), refused("busy"))), new Response(lines(at(4))),
  );
  const seen: number[] = [];
  for await (const event of new Client("http://here", { fetch }).log("m")) seen.push(event.seq);
  assert.deepEqual(seen, [1, 2, 3, 4]);
  assert.deepEqual(sent.map(({ url }) => url.split("?")[1]), ["after=0", "after=2", "after=2", "after=3"]);
});

test("a log of several shards is taken up in its shard, and goes on with the next ones", async () => {
  const { fetch, sent } = scripted(
    cut(lines(at(1, 0), at(2, 0), at(1, 1))), new Response(lines(at(2, 1))), json(200, { shards: 3 }), cut(""), new Response(lines(at(1, 2))), json(200, { shards: 3 }),
  );
  const seen: unknown[] = [];
  for await (const { seq, shard } of new Client("http://here", { fetch }).log("m")) seen.push([seq, shard]);
  assert.deepEqual(seen, [[1, 0], [2, 0], [1, 1], [2, 1], [1, 2]]);
  const asked = sent.map(({ url }) => url.split("?")[1]).filter((query) => query);
  assert.deepEqual(asked, ["after=0", "after=1&shard=1", "after=0&shard=2", "after=0&shard=2"]);
});

test("a log that breaks without another event is given up", async () => {
  const { fetch, sent } = scripted(cut(lines(at(1))), cut(""), cut(""));
  const seen: number[] = [];
  await assert.rejects(async () => {
    for await (const event of new Client("http://here", { fetch, retries: 1 }).log("m")) seen.push(event.seq);
  }, Unreachable);
  assert.deepEqual([seen, sent.length], [[1], 2]);
});

test("create says why it waits", async () => {
  const { fetch } = scripted(json(503, refused("busy"), { "retry-after": "1" }), new TypeError("fetch failed"), json(200, {}));
  const seen: string[] = [];
  await new Client("http://here", { fetch }).create("m", { loop: "rank" }, { onProgress: (status) => seen.push(status) });
  assert.equal(seen[0], "it cannot be; the next attempt is in 1.0 s");
  assert.match(seen[1]!, /^there is no reply: fetch failed; the next attempt is in 0\.\d s$/);
  assert.equal(seen.length, 2);
});

test("typed arrays are sent as arrays of numbers", async () => {
  const { fetch, sent } = scripted(json(201, { decision: "d" }));
  await new Client("http://here", { fetch }).decide("m", { features: { emb: new Float32Array([0.5, -1]) } });
  assert.deepEqual((JSON.parse(String(sent[0]?.init.body)) as { features: unknown }).features, { emb: [0.5, -1] });
});
