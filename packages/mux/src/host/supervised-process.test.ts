import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, vi } from "vitest";
import { ECHO, isThere } from "../testing/programs/programs.ts";
import { SupervisedProcess } from "./supervised-process.ts";

async function run(text: string, env: NodeJS.ProcessEnv = process.env) {
  let output = "";
  const child = await SupervisedProcess.start({
    path: "/bin/sh",
    args: ["-c", text],
    cwd: "/",
    env,
    onStdout: (chunk) => {
      output += chunk.toString();
    },
    onStderr: () => undefined,
  });
  return { child, output: () => output };
}

describe("a supervised process", () => {
  it("reports a code, after all output was handed on", async () => {
    const { child, output } = await run("echo one; echo two; exit 3");
    expect(await child.exited).toEqual({ code: 3, signal: undefined });
    expect(output()).toBe("one\ntwo\n");
  });

  it("reports the signal that ended it", async () => {
    const { child } = await run("kill -s KILL $$");
    expect(await child.exited).toEqual({ code: undefined, signal: "SIGKILL" });
  });

  it("knows the pid of the program, and gives it arguments and environment as they are", async () => {
    const { child, output } = await run(`printf '%s|%s' "$$" "$TEXT"`, {
      TEXT: "a 'b' \"c\" $d\nnext line",
    });
    await child.exited;
    expect(output()).toBe(`${child.pid}|a 'b' "c" $d\nnext line`);
  });

  it("ends by SIGINT when it obeys that", async () => {
    const { child, output } = await run(
      "trap 'echo int; exit 5' INT; echo up; while :; do sleep 0.05; done",
    );
    await vi.waitFor(() => expect(output()).toBe("up\n"), { timeout: 10_000 });
    expect(await child.end(10_000)).toEqual({ code: 5, signal: undefined });
    expect(output()).toBe("up\nint\n");
  });

  it("ends by SIGTERM when it ignores SIGINT", async () => {
    const { child, output } = await run(
      "trap '' INT; trap 'exit 6' TERM; echo up; while :; do sleep 0.05; done",
    );
    await vi.waitFor(() => expect(output()).toBe("up\n"), { timeout: 10_000 });
    expect(await child.end(3000)).toEqual({ code: 6, signal: undefined });
  });

  it("is killed with everything it started when it ignores both", async () => {
    const { child, output } = await run(
      "trap '' INT TERM; sleep 600 & echo up; while :; do sleep 600; done",
    );
    await vi.waitFor(() => expect(output()).toBe("up\n"), { timeout: 10_000 });
    expect(await child.end(200)).toEqual({ code: undefined, signal: "SIGKILL" });
    await vi.waitFor(() => expect(isThere(-child.group)).toBe(false), { timeout: 10_000 });
  });

  it("takes along what it left behind when it ended by itself", async () => {
    const { child } = await run("sleep 600 & exit 0");
    expect(await child.exited).toEqual({ code: 0, signal: undefined });
    await vi.waitFor(() => expect(isThere(-child.group)).toBe(false), { timeout: 10_000 });
  });

  it("is not waited for for ever when a daemon of it holds its output", async (context) => {
    context.skip(process.platform !== "linux", "setsid is a command of Linux");
    const { child, output } = await run(
      "setsid sh -c 'echo $$; exec sleep 600' & sleep 0.3; exit 0",
    );
    expect(await child.exited).toEqual({ code: 0, signal: undefined });
    process.kill(Number(output()), "SIGKILL");
  });

  it("ends with us, also when we are killed", async () => {
    const parent = spawn(
      process.execPath,
      [
        join(import.meta.dirname, "../testing/programs/launching-parent.ts"),
        ECHO.command,
        ...ECHO.args,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const lines = createInterface({ input: parent.stdout })[Symbol.asyncIterator]();
    const { value: line } = await lines.next();
    const { group, pid } = JSON.parse(String(line)) as { group: number; pid: number };
    expect([isThere(-group), isThere(pid)]).toEqual([true, true]);
    parent.kill("SIGKILL");
    await vi.waitFor(() => expect(isThere(-group)).toBe(false), { timeout: 5000 });
    expect(isThere(pid)).toBe(false);
  });

  it("says that a folder to work in is not there", async () => {
    const start = SupervisedProcess.start({
      path: "/bin/sh",
      args: [],
      cwd: "/no/such/folder",
      env: {},
      onStdout: () => undefined,
      onStderr: () => undefined,
    });
    await expect(start).rejects.toMatchObject({ code: "MUX_PROCESS_NOT_FOUND" });
  });
});
