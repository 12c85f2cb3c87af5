import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A server in a process of its own. */
interface BenchServer extends AsyncDisposable {
  readonly url: string;
  /** The bare static file server in the same process. */
  readonly files: string;
  readonly token: string;
  /** How long it took to fill the store. */
  readonly seededMs: number;
  /** Resident bytes after a collection of garbage. */
  residentBytes(): Promise<number>;
}

export async function startBenchServer(options: {
  readonly store: string;
  readonly providers?: number;
  readonly file?: string;
}): Promise<BenchServer> {
  const directory = await mkdtemp(join(tmpdir(), "bench-registry-"));
  const setup = { ...options, directory, providers: options.providers ?? 0 };
  const child = spawn(
    process.execPath,
    ["--expose-gc", join(import.meta.dirname, "server.ts"), JSON.stringify(setup)],
    {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, BENCH_KEY: randomBytes(32).toString("base64") },
    },
  );
  let text = "";
  const { url, files, seededMs } = await new Promise<{
    url: string;
    files: string;
    seededMs: number;
  }>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    child.stdout.on("data", (chunk) => {
      text += String(chunk);
      const line = text.indexOf("\n");
      if (line >= 0) resolve(JSON.parse(text.slice(0, line)) as never);
    });
  });
  const { token } = JSON.parse(await readFile(join(directory, "first.json"), "utf8")) as {
    token: string;
  };
  return {
    url,
    files,
    token,
    seededMs,
    async residentBytes() {
      const answer = await fetch(`${url}/baseline/memory`);
      return ((await answer.json()) as { rss: number }).rss;
    },
    [Symbol.asyncDispose]: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
