/**
 * A page that asks for decisions itself, through a proxy of the same origin: the token stays on the server, and only what
 * a visitor may do goes through (ask for a decision of one model, and give feedback).
 *
 *     smidgen serve &                # the decision service, on http://127.0.0.1:8470
 *     npm run build
 *     node examples/proxy.mjs        # the page, on http://127.0.0.1:3000
 */
import { createReadStream } from "node:fs";
import { createServer, request as ask } from "node:http";
import { extname, join, normalize } from "node:path";

const HERE = import.meta.dirname;
const MODEL = "colour";
const MAY = [
  ["POST", new RegExp(`^/v1/models/${MODEL}/decisions$`)],
  ["POST", /^\/v1\/decisions\/[\w-]+\/feedback$/],
];
const MEDIA = { ".html": "text/html", ".js": "text/javascript" };

/** @param {string} url the service @param {string | undefined} token what the visitor never sees */
export function proxy(url, token) {
  return createServer((visitor, reply) => {
    const { pathname } = new URL(visitor.url, "http://page");
    if (MAY.some(([method, path]) => method === visitor.method && path.test(pathname))) return pass(visitor, reply, pathname);
    if (visitor.method !== "GET") return reply.writeHead(403).end();
    const file = pathname === "/" ? join(HERE, "page.html") : join(HERE, "..", "dist", normalize(pathname));
    createReadStream(file)
      .on("open", () => reply.writeHead(200, { "content-type": MEDIA[extname(file)] ?? "application/octet-stream" }))
      .on("error", () => reply.writeHead(404).end())
      .pipe(reply);
  });

  function pass(visitor, reply, path) {
    const headers = { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const onward = ask(new URL(path, url), { method: "POST", headers }, (answer) => {
      reply.writeHead(answer.statusCode, { "content-type": answer.headers["content-type"] });
      answer.pipe(reply);
    });
    onward.on("error", () => reply.writeHead(502).end());
    visitor.pipe(onward);
  }
}

if (process.argv[1] === import.meta.filename) {
  const { Client } = await import("../dist/index.js");
  const [url, token] = [process.env.SMIDGEN_URL ?? "http://127.0.0.1:8470", process.env.SMIDGEN_TOKEN];
  await new Client(url, token ? { token } : {}).create(MODEL, { loop: "choose", feedback: "reward" });
  proxy(url, token).listen(3000, "127.0.0.1", () => console.log("http://127.0.0.1:3000"));
}
