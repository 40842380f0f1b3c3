/** A real service for the tests: `SMIDGEN` in the environment is the command that starts it. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Service {
  #child: ChildProcess | undefined;
  #said = "";

  private constructor(
    readonly folder: string,
    readonly port: number,
  ) {}

  static async start(): Promise<Service> {
    const service = new Service(await mkdtemp(join(tmpdir(), "smidgen-ts-")), await freePort());
    await service.up();
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async up(): Promise<void> {
    const command = `exec ${process.env["SMIDGEN"] ?? "smidgen"} serve --port ${this.port} --data ${this.folder}`;
    this.#child = spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on("data", (part) => (this.#said += part));
    const until = Date.now() + 120_000;
    while (Date.now() < until) {
      if (this.#child.exitCode !== null) break;
      const answer = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (answer?.ok) return;
      await new Promise((go) => setTimeout(go, 100));
    }
    throw new Error(`the service did not start: ${this.#said}`);
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }

  async stop(): Promise<void> {
    await this.kill("SIGTERM");
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
