import { type FSWatcher, watch } from "node:fs";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BootstrapCredentials } from "@stackwright/engine";
import { expect, it } from "vitest";
import { runSpawned, spawnCommand } from "../testing/spawned-command.ts";
import { tryCommand } from "../testing/try-command.ts";

const OLD = Buffer.alloc(32, 7).toString("base64");
const NEW = Buffer.alloc(32, 8).toString("base64");

/** Starts a command and kills it at the n-th change below a folder. Resolves with whether that came before its end. */
async function killedAt(
  change: number,
  words: readonly string[],
  { cwd, below, env }: { cwd: string; below: string; env: NodeJS.ProcessEnv },
): Promise<boolean> {
  let changes = 0;
  let watcher: FSWatcher | undefined;
  const command = spawnCommand(words, { cwd, env });
  const killed = new Promise<true>((resolve) => {
    watcher = watch(join(cwd, below), { recursive: true }, () => {
      changes += 1;
      if (changes !== change) return;
      // The launcher becomes the command, so that this is the process that writes.
      process.kill(command.pid, "SIGKILL");
      resolve(true);
    });
  });
  const outcome = await Promise.race([killed, command.ended.then(() => false)]);
  watcher?.close();
  await command.ended;
  return outcome;
}

it("rewrap and rotate survive kill -9 at any moment: the stacks stay readable, a repetition completes them", {
  timeout: 600_000,
}, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "keys-killed-"));
  const cwd = folder.path;
  await writeFile(
    join(cwd, "main.tf"),
    'variable "word" {\n  default   = "hunter2"\n  sensitive = true\n}\noutput "word" {\n  value     = var.word\n  sensitive = true\n}\n',
  );
  const stacks = ["a", "b", "c"];
  for (const stack of stacks) {
    const env = { STACKWRIGHT_KEY: OLD };
    const made = await tryCommand(["up", "--yes", "--stack", stack], { cwd, env });
    expect(made).toMatchObject({ code: 0, error: "" });
  }
  const env = { STACKWRIGHT_KEY: NEW, FORMER: OLD };
  const rewrap = ["keys", "rewrap", "--all-stacks", "--from-key-variable", "FORMER"];
  const below = ".stackwright/store";
  let kills = 0;
  for (const change of [1, 2, 3, 5, 8, 12, 16]) {
    kills += Number(await killedAt(change, rewrap, { cwd, below, env }));
    for (const stack of stacks) {
      const listed = await tryCommand(["keys", "list", "--json", "--stack", stack], { cwd, env });
      expect(listed).toMatchObject({ code: 0, error: "" });
      // Each stack has the one key or the other, and is readable with it.
      const [{ readable }] = JSON.parse(listed.output).dataKeys as [{ readable: boolean }];
      const read = { ...env, STACKWRIGHT_KEY: readable ? NEW : OLD };
      const output = ["output", "--raw", "word", "--stack", stack];
      expect((await tryCommand(output, { cwd, env: read })).output).toBe("hunter2");
    }
  }
  expect(kills).toBeGreaterThan(2);
  const resumed = await runSpawned(rewrap, { cwd, env });
  expect(resumed.code).toBe(0);
  for (const change of [1, 3, 6]) {
    const rotate = ["keys", "rotate", "--stack", "a"];
    await killedAt(change, rotate, { cwd, below, env: { STACKWRIGHT_KEY: NEW } });
  }
  const only = { STACKWRIGHT_KEY: NEW };
  expect((await runSpawned(["keys", "rotate", "--stack", "a"], { cwd, env: only })).code).toBe(0);
  for (const stack of stacks) {
    const output = ["output", "--raw", "word", "--stack", stack];
    expect((await tryCommand(output, { cwd, env: only })).output).toBe("hunter2");
  }
});

it("the rotation of a server's key survives kill -9 at any moment", {
  timeout: 600_000,
}, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "server-key-killed-"));
  const cwd = folder.path;
  const store = ["--store", "sqlite:data"];
  const made = await tryCommand(["bootstrap", ...store], { cwd });
  const first = JSON.parse(made.output) as BootstrapCredentials;
  expect(first.accessKey).toBeDefined();
  const list = async () => {
    const { code, output } = await tryCommand(["server-key", "list", "--json", ...store], { cwd });
    expect(code).toBe(0);
    return JSON.parse(output).keys as { secrets: number; available: boolean }[];
  };
  let kills = 0;
  for (const change of [1, 2, 4, 6, 8, 10, 13]) {
    const words = ["server-key", "rotate", ...store];
    kills += Number(await killedAt(change, words, { cwd, below: "data", env: {} }));
    // A server that starts now reads all secrets.
    for (const { secrets, available } of await list())
      expect(secrets === 0 || available).toBe(true);
  }
  expect(kills).toBeGreaterThan(2);
  expect((await runSpawned(["server-key", "rotate", ...store], { cwd })).code).toBe(0);
  expect(await list()).toMatchObject([{ available: true }]);
});
