import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("hooks of a project and a stack are set from a file and shown", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "hooks-command-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const env = {
    HOME: cwd,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_PROJECT: "web",
  };
  const say = async (...words: readonly string[]) => tryCommand(["hooks", ...words], { cwd, env });
  await fetch(new URL("/api/v1/projects/web/stacks", server.url), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: '{"name": "one"}',
  });
  const put = async (name: string, value: unknown) =>
    writeFile(join(cwd, name), typeof value === "string" ? value : JSON.stringify(value));
  const scan = { name: "scan", stage: "after_plan", script: "echo one\necho two" };
  await put("project.json", { hooks: [scan] });
  await put("stack.json", {
    hooks: [{ name: "end", stage: "after_apply", command: ["true", "x"], on_failure: "warn" }],
  });

  expect((await say("show")).output).toBe("The project web has no hooks.\n");
  const set = await say("set", "project.json");
  expect([set.error, set.output]).toEqual(["", "scan: after_plan, at most 300 s: echo one …\n"]);
  expect((await say("show", "--stack", "one")).output).toBe("The stack web/one has no hooks.\n");
  const own = await say("set", "stack.json", "--stack", "one");
  expect(own.output).toBe("end: after_apply, at most 300 s, only warns: true x\n");
  const shown = await say("show", "--json");
  expect(JSON.parse(shown.output)).toMatchObject({ hooks: [scan] });
  // What is shown can be set again.
  await put("again.json", shown.output);
  expect((await say("set", "again.json")).output).toBe(set.output);

  await put("broken.json", "{");
  await put("list.json", []);
  await put("odd.json", { hooks: [{ name: "scan", stage: "after_plan" }] });
  for (const [words, message] of [
    [["set", "missing.json"], "cannot be read"],
    [["set", "broken.json"], "is not valid JSON"],
    [["set", "list.json"], "has no list of hooks"],
    [["set", "odd.json"], "needs either command or script"],
    [["show", "--stack", "nothing"], 'no stack "nothing"'],
  ] as const) {
    const refused = await say(...words);
    expect([refused.code, refused.error]).toEqual([1, expect.stringContaining(message)]);
  }
});
