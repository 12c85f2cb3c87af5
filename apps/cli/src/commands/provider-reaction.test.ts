import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("a stack is given a reaction of its own, and goes back to that of its project", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "reaction-command-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const env = { HOME: cwd, STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token };
  const output = async (...words: readonly string[]) => {
    const done = await tryCommand(words, { cwd, env });
    expect([words, done.code, done.error]).toEqual([words, 0, ""]);
    return done.output;
  };
  const reaction = async (...words: readonly string[]) =>
    output("providers", "reaction", ...words, "--stack", "web/one");
  await output("projects", "create", "web", "--provider-reaction", "notify");
  const made = await fetch(new URL("/api/v1/projects/web/stacks", server.url), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: '{"name": "one"}',
  });
  expect(made.status).toBe(201);
  const inherited =
    "Where a version of a provider of the stack changes, it is noted and notifications are sent. That is from the project.\n";
  expect(await reaction()).toBe(inherited);
  const own = await reaction("plan");
  expect(own).toContain("a plan is requested");
  expect(own).not.toContain("from the project");
  expect(await reaction("inherit")).toBe(inherited);
});
