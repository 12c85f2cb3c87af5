import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { NOTHING_WRITTEN, seeState } from "@stackwright/core";
import { type BootstrapCredentials, serve } from "@stackwright/engine";
import { expect, it, onTestFinished } from "vitest";
import { createContext } from "../command-context.ts";
import { tryCommand } from "../testing/try-command.ts";
import { openReader } from "./session.ts";
import { stackPlace, untilStateMoves } from "./state-moves.ts";

async function embedded(): Promise<NodeJS.ProcessEnv> {
  return Promise.resolve({});
}

/** The store of a server, by its storage service. */
async function ofServer(folder: string): Promise<NodeJS.ProcessEnv> {
  const bootstrapFile = join(folder, "first.json");
  const server = await serve(
    {
      store: "memory:",
      port: 0,
      storagePort: 0,
      bootstrapFile,
      logLevel: "silent",
      executor: "none",
    },
    { directory: folder, env: {} },
  );
  onTestFinished(() => server.close());
  const { token } = JSON.parse(await readFile(bootstrapFile, "utf8")) as BootstrapCredentials;
  return {
    STACKWRIGHT_STORE: `stackwright://127.0.0.1:${server.storagePort}`,
    STACKWRIGHT_TOKEN: token,
  };
}

/** A folder with a configuration, whose state another process may change. */
async function start(environmentOf: (folder: string) => Promise<NodeJS.ProcessEnv> = embedded) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "state-moves-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const env = await environmentOf(cwd);
  const write = async (input: string) =>
    writeFile(join(cwd, "main.tf"), `resource "terraform_data" "a" { input = "${input}" }\n`);
  await write("x");
  const command = async (...words: string[]) => {
    const { code, error } = await tryCommand(words, { cwd, env });
    expect(code, error).toBe(0);
  };
  const contextFor = (signal: AbortSignal) => {
    const [output, error] = [new PassThrough(), new PassThrough()];
    const streams = { input: Readable.from([]), output, error, env };
    return createContext({ streams, cwd, signal, forceSignal: signal }, {});
  };
  const see = async () => {
    const context = contextFor(new AbortController().signal);
    await using session = await openReader(context, {});
    if (session === undefined) return NOTHING_WRITTEN;
    return await seeState(stackPlace(session, context, {}));
  };
  /** Waits for another state than that of the moment. */
  const follow = async () => {
    const end = new AbortController();
    const seen = await see();
    const progress = { isDone: false };
    const wait = async () => {
      await untilStateMoves(seen, {}, contextFor(end.signal));
      progress.isDone = true;
    };
    const done = wait();
    onTestFinished(async () => {
      end.abort(new Error("the test has ended"));
      await done.catch(() => undefined);
    });
    return { progress, done };
  };
  return { write, command, follow };
}

it.each([
  ["an embedded state", embedded],
  ["a state of a server", ofServer],
] as const)(
  "%s moves with an apply of another process, the first one, too",
  {
    timeout: 60_000,
  },
  async (_whose, environmentOf) => {
    const { write, command, follow } = await start(environmentOf);
    const first = await follow();
    await command("up", "--yes");
    await first.done;
    await write("y");
    const second = await follow();
    await command("up", "--yes");
    await second.done;
    expect([first.progress.isDone, second.progress.isDone]).toEqual([true, true]);
  },
);

it("an embedded state does not move with plans, nor with another stack of its store", {
  timeout: 60_000,
}, async () => {
  const { write, command, follow } = await start();
  await command("up", "--yes");
  await write("y");
  const { progress, done } = await follow();
  await command("plan");
  await command("up", "--yes", "--stack", "other");
  expect(progress.isDone).toBe(false);
  await command("up", "--yes");
  await done;
});
