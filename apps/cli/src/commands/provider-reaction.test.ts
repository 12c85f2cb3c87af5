import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("what follows for a stack where a provider changes is set and shown", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "reaction-"));
  onTestFinished(() => scratch.remove());
  const { server, token } = await startServer("none");
  const env = {
    HOME: scratch.path,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_STACK: "web/one",
  };
  const reaction = async (...words: readonly string[]) =>
    tryCommand(["providers", "reaction", ...words], { cwd: scratch.path, env });
  const made = await fetch(new URL("/api/v1/projects/web/stacks", server.url), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: '{"name": "one"}',
  });
  expect(made.status).toBe(201);
  expect((await reaction()).output).toContain("Nothing follows");
  const set = await reaction("notify");
  expect(set.code, set.error).toBe(0);
  expect(set.output).toContain("it is noted and notifications are sent.");
  const { output } = await reaction("--json");
  expect(JSON.parse(output)).toMatchObject({ reaction: "notify", notices: [] });
  expect((await reaction("apply")).code).not.toBe(0);
});
