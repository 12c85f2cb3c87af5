import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "triggers-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const env = {
    HOME: cwd,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_STACK: "web/site",
  };
  for (const [project, name] of [
    ["web", "site"],
    ["web", "database"],
    ["base", "network"],
  ] as const) {
    const made = await fetch(new URL(`/api/v1/projects/${project}/stacks`, server.url), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name }),
    });
    expect(made.status).toBe(201);
  }
  return async (...words: readonly string[]) => tryCommand(["runs", ...words], { cwd, env });
}

it("a trigger is made, listed, paused, resumed and deleted", { timeout: 60_000 }, async () => {
  const runs = await start();
  expect((await runs("triggers")).output).toBe("No other stack triggers runs of web/site.\n");
  const made = await runs("trigger", "base/network", "--plan-only", "--message", "moved");
  expect(made.code, made.error).toBe(0);
  expect(made.output).toMatch(/^[0-9A-Z]{26}: outputs of base\/network, plan only, moved\n$/);
  const other = await runs("trigger", "database", "--auto-approve");
  expect(other.output).toContain("outputs of web/database, apply, applied without an approval");
  const listed = (await runs("triggers")).output;
  expect(listed.split("\n").toSorted()).toEqual(
    ["", made.output.trim(), other.output.trim()].toSorted(),
  );
  const id = made.output.slice(0, 26);
  expect((await runs("pause-trigger", id.slice(-6).toLowerCase())).output).toContain("paused");
  const shown = JSON.parse((await runs("triggers", "--json")).output) as object[];
  expect(shown).toContainEqual(expect.objectContaining({ id, paused: true, mode: "plan_only" }));
  expect((await runs("resume-trigger", "network")).output).toBe(made.output);
  expect((await runs("untrigger", "base/network")).output).toBe(`Deleted the trigger ${id}.\n`);
  const gone = await runs("untrigger", id);
  expect([gone.code, gone.error]).toEqual([1, expect.stringContaining(`no trigger "${id}"`)]);
});

it("says what is wrong with a trigger", { timeout: 60_000 }, async () => {
  const runs = await start();
  for (const [words, message] of [
    [["database", "--plan-only", "--refresh-only"], "one of --plan-only"],
    [["a/b/c"], "does not name a stack"],
    [["nowhere"], 'here is no stack "nowhere"'],
    [["site"], "would close a cycle: web/site -> web/site"],
  ] as const) {
    const refused = await runs("trigger", ...words);
    expect([refused.code, refused.error]).toEqual([1, expect.stringContaining(message)]);
  }
});
