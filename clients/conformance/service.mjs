/** A real service for the tests: `SMIDGEN` in the environment is the command that starts it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function start() {
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const { port } = free.address();
  free.close();
  await once(free, "close");
  const folder = await mkdtemp(join(tmpdir(), "smidgen-doors-"));
  const command = `exec ${process.env.SMIDGEN ?? "smidgen"} serve --port ${port} --data ${folder}`;
  const child = spawn("sh", ["-c", command], { stdio: "inherit" });
  const url = `http://127.0.0.1:${port}`;
  for (const until = Date.now() + 120_000; Date.now() < until && child.exitCode === null; ) {
    if ((await fetch(`${url}/readyz`).catch(() => undefined))?.ok) {
      return {
        url,
        async stop() {
          child.kill("SIGTERM");
          await once(child, "exit");
          await rm(folder, { recursive: true, force: true });
        },
      };
    }
    await new Promise((go) => setTimeout(go, 100));
  }
  throw new Error("the service did not start");
}
