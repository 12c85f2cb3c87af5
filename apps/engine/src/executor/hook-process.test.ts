import { spawn } from "node:child_process";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createRedactor } from "@stackwright/core";
import { expect, it, onTestFinished } from "vitest";
import { hookProblem, runHookProcess } from "./hook-process.ts";

const PATH = process.env["PATH"] ?? "";

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "hook-"));
  onTestFinished(() => scratch.remove());
  const lines: string[] = [];
  const [stop, force] = [new AbortController(), new AbortController()];
  const secrets = createRedactor();
  secrets.add("canary-of-a-hook");
  const run = async (words: readonly string[], timeoutMs = 20_000) =>
    runHookProcess({
      words,
      directory: scratch.path,
      env: { PATH },
      secrets,
      timeoutMs,
      stop: stop.signal,
      force: force.signal,
      onLine: (text) => void lines.push(text),
    });
  const script = async (text: string, timeoutMs?: number) =>
    run(["/bin/sh", "-c", text], timeoutMs);
  const read = async (name: string) => readFile(join(scratch.path, name), "utf8").catch(() => "");
  return { run, script, lines, stop, force, read, directory: scratch.path };
}

/** Whether a process executes anything: one that ended and that no parent has asked for yet does not. */
async function isAlive(pid: string): Promise<boolean> {
  try {
    process.kill(Number(pid), 0);
  } catch {
    return false;
  }
  const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return status.slice(status.lastIndexOf(")")).charAt(2) !== "Z";
}

it("arguments reach the command as they are, its output is passed on without secrets", async () => {
  const { run, script, lines } = await start();
  expect(await run(["printf", "%s\\n", "a b", '$(id)"', "canary-of-a-hook"])).toEqual({
    how: "exit",
    code: 0,
  });
  expect(lines.slice(0, 2)).toEqual(["a b", '$(id)"']);
  expect(lines[2]).not.toContain("canary");
  const end = await script("echo to-stderr >&2; exit 3");
  expect([hookProblem(end, 1), lines.at(-1)]).toEqual(["ended with code 3", "to-stderr"]);
  const missing = await run(["/nowhere/to/be/found"]);
  expect(hookProblem(missing, 1)).toContain("ended with code 127: a command cannot be executed");
});

it("a command that takes too long is ended with all that it started", async () => {
  const { script, read } = await start();
  const end = await script("sleep 600 & echo $! > pid; wait; sleep 600", 300);
  expect([end.how, hookProblem(end, 300)]).toEqual(["timeout", "took longer than 0.3 seconds"]);
  const pid = (await read("pid")).trim();
  await expect.poll(async () => isAlive(pid)).toBe(false);
});

it("what a command leaves in the background ends with it, and keeps nothing open", async () => {
  const { script, read } = await start();
  expect(await script("sleep 600 & echo $! > pid")).toEqual({ how: "exit", code: 0 });
  const pid = (await read("pid")).trim();
  await expect.poll(async () => isAlive(pid)).toBe(false);
});

it("a stop ends the command, also one that ignores it", async () => {
  const { script, stop, force, read } = await start();
  const running = script("trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done");
  await expect.poll(async () => read("pid")).not.toBe("");
  stop.abort();
  force.abort();
  expect(await running).toMatchObject({ how: "signal", signal: "SIGKILL" });
});

it("a command ends with the executor, however that ends", async () => {
  const { read, directory } = await start();
  const module = new URL("./hook-process.ts", import.meta.url).href;
  const code = `
    const { runHookProcess } = await import(${JSON.stringify(module)});
    const never = new AbortController().signal;
    const secrets = { redactPiece: (text) => ({ text, unfinished: [] }) };
    await runHookProcess({ words: ["/bin/sh", "-c", "echo $$ > pid; sleep 600"], directory: ".", secrets,
      env: process.env, timeoutMs: 600_000, stop: never, force: never, onLine: () => undefined });`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: directory,
    stdio: "ignore",
  });
  await expect.poll(async () => (await read("pid")).trim(), { timeout: 20_000 }).not.toBe("");
  const pid = (await read("pid")).trim();
  expect(await isAlive(pid)).toBe(true);
  child.kill("SIGKILL");
  await expect.poll(async () => isAlive(pid), { timeout: 20_000 }).toBe(false);
});
