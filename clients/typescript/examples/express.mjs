/**
 * A news page with Express: which headline is shown first is learnt from clicks.
 *
 *     smidgen serve &                # the decision service, on http://127.0.0.1:8470
 *     node examples/express.mjs      # this app, on http://127.0.0.1:3000
 */
import express from "express";
import { Client } from "smidgen-client";

const ARTICLES = [
  { id: "flood", title: "The river is falling", topic: "weather" },
  { id: "cup", title: "Through to the last eight", topic: "sport" },
  { id: "vote", title: "The count begins at ten", topic: "politics" },
];

/** @param {Client} client */
export async function app(client) {
  const front = await client.create("front-page", { loop: "rank", feedback: "clicks" });
  const server = express();

  server.get("/front", async (request, response) => {
    const candidates = ARTICLES.map(({ id, ...features }) => ({ id, features }));
    const device = /Mobile/.test(request.get("user-agent") ?? "") ? "phone" : "desk";
    const decided = await front.decide({ candidates, context: { device }, top: 3 });
    response.json({ decision: decided.decision, articles: decided.ranking });
  });

  server.post("/clicked/:decision/:article", async (request, response) => {
    response.json(await front.learn(request.params.decision, { clicked: [request.params.article] }));
  });

  return server;
}

if (process.argv[1] === import.meta.filename) {
  const client = new Client(process.env.SMIDGEN_URL ?? "http://127.0.0.1:8470", process.env.SMIDGEN_TOKEN ? { token: process.env.SMIDGEN_TOKEN } : {});
  (await app(client)).listen(3000, () => console.log("http://127.0.0.1:3000/front"));
}
