import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";

const BIN = fileURLToPath(new URL("../../bin/", import.meta.url));
/** Lets the launcher believe that an older Node runs it, so that it starts the bundled one. */
const OLDER = `data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.0.0"})`;

const LAUNCHERS: readonly (readonly [string, readonly [string, ...string[]]])[] = [
  ["the published program", [join(BIN, "stackwright")]],
  ["Node 24", [process.execPath, join(BIN, "stackwright.mjs")]],
  ["an older Node", [process.execPath, "--import", OLDER, join(BIN, "stackwright.mjs")]],
];

interface Serving {
  readonly child: ChildProcess;
  readonly port: number;
  readonly text: () => string;
}

/** A server that was started by a launcher, once it listens. */
async function serving([file, ...args]: readonly [string, ...string[]]): Promise<Serving> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-launcher-"));
  onTestFinished(() => scratch.remove());
  const child = spawn(file, [...args, "serve", "--port", "0", "--store", "sqlite:./store"], {
    cwd: scratch.path,
    env: { PATH: process.env["PATH"], HOME: scratch.path },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  const port = await new Promise<number>((found, failed) => {
    const collect = (chunk: Buffer): void => {
      text += chunk.toString();
      const match = /The server is at http:\/\/[^:]+:(\d+)/.exec(text);
      if (match !== null) found(Number(match[1]));
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.once("close", (code) => failed(new Error(`ended with ${code}: ${text}`)));
  });
  return { child, port, text: () => text };
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    return await once(socket, "connect").then(
      () => true,
      () => false,
    );
  } finally {
    socket.destroy();
  }
}

async function isFree(port: number): Promise<void> {
  while (await listens(port)) await new Promise((done) => setTimeout(done, 20));
}

/** A server starts from the sources of the whole workspace, which takes its time where much else runs. */
const TIME = { timeout: 120_000 };

describe.each(LAUNCHERS)("a server started by %s", (_name, launcher) => {
  it.each(["SIGTERM", "SIGINT"] as const)("ends with %s", TIME, async (signal) => {
    const { child, port } = await serving(launcher);
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(await listens(port)).toBe(false);
  });
});

it("ends when the launcher is killed", TIME, async () => {
  const { child, port } = await serving(LAUNCHERS[2]?.[1] ?? [""]);
  // Its output ends when the server, which has it too, has closed its store.
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await isFree(port);
  await closed;
});
