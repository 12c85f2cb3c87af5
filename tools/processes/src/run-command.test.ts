import { describe, expect, it } from "vitest";
import { describeEnd, requireCommand, runCommand } from "./run-command.ts";

const node = (script: string): [string, ...string[]] => [process.execPath, "-e", script];

describe("runCommand", () => {
  it("returns the code and both outputs", async () => {
    const result = await runCommand(
      node('process.stdout.write("a"); process.stderr.write("b"); process.exitCode = 3;'),
    );
    expect(result).toEqual({
      code: 3,
      signal: undefined,
      timedOut: false,
      stdout: "a",
      stderr: "b",
    });
    expect(describeEnd(result)).toBe("ended with code 3");
  });

  it("stops a command past its deadline, with the processes that it started", async () => {
    const grandchild = `require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" }); setInterval(() => {}, 1000);`;
    // The end of the output is waited for, and the started process has it too.
    const result = await runCommand(node(grandchild), { timeoutMs: 500 });
    expect(result).toMatchObject({ code: undefined, signal: "SIGTERM", timedOut: true });
    expect(describeEnd(result)).toBe("did not end within its deadline and was stopped");
  });

  it("stops a command when the signal of the caller fires, with the reason", async () => {
    const controller = new AbortController();
    const ended = runCommand(node("setInterval(() => {}, 1000)"), { signal: controller.signal });
    controller.abort(new Error("not needed"));
    const result = await ended;
    expect(result).toMatchObject({ code: undefined, signal: "SIGTERM", timedOut: false });
    expect(result.stderr).toContain("was stopped: Error: not needed");
  });

  it("returns a result without a code for a program that does not exist", async () => {
    const result = await runCommand(["no-such-program-anywhere"]);
    expect(result).toMatchObject({ code: undefined, signal: undefined, timedOut: false });
    expect(result.stderr).toContain("ENOENT");
    expect(describeEnd(result)).toBe("could not be started");
  });
});

describe("requireCommand", () => {
  it("returns the standard output", async () => {
    expect(await requireCommand(node('process.stdout.write("yes")'))).toBe("yes");
  });

  it("throws the output of a command that fails", async () => {
    const failing = requireCommand(node('process.stderr.write("broken"); process.exitCode = 2;'));
    await expect(failing).rejects.toThrow(/ended with code 2:\nbroken/);
  });
});
