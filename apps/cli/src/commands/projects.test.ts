import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startOtherRelease } from "../testing/other-release.ts";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("projects are made with rules of approval, changed, shown and deleted", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "projects-command-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const env = { HOME: cwd, STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token };
  const command = async (...words: readonly string[]) =>
    tryCommand(["projects", ...words], { cwd, env });
  const output = async (...words: readonly string[]) => {
    const done = await command(...words);
    expect([words, done.code, done.error]).toEqual([words, 0, ""]);
    return done.output;
  };

  const made = await output(
    "create",
    "web",
    "--required-approvals",
    "2",
    "--exclude-author",
    "--auto-apply",
    "never",
  );
  expect(made).toContain("plans need 2 approvals of any operator, not of who requested the run");
  expect(made).toContain("applied without an approval: never");
  expect(await output("list")).toContain("web\n");
  expect(made).toContain("a plan waits 7 days for that, and an approval counts for 7 days\n");
  const times = await output("set", "web", "--approval-wait", "36h", "--approval-valid", "90m");
  expect(times).toContain("a plan waits 36 hours for that, and an approval counts for 90 minutes");
  // A server of an earlier release has no such times.
  const former = await startOtherRelease(server.url, {
    version: "0.0.1",
    answer: (name, value) => (name.startsWith("approval_") ? undefined : value),
  });
  const shown = await output("show", "web", "--server", former);
  expect(shown).toContain("plans need 2 approvals");
  expect(shown).not.toMatch(/a plan waits|undefined/);
  // What is not named stays.
  const changed = await output("set", "web", "--no-exclude-author", "--approver", "token:x");
  expect(changed).toContain("plans need 2 approvals of token:x\n");
  expect(await output("set", "web", "--any-approver", "--share-outputs-with", "base")).toContain(
    "outputs for: base\n",
  );
  expect(JSON.parse(await output("show", "web", "--json"))).toMatchObject({
    name: "web",
    required_approvals: 2,
    exclude_author: false,
    approvers: [],
    auto_apply: "never",
    outputs_shared_with: ["base"],
    provider_reaction: "none",
  });
  const pure = await output("set", "web", "--pure-provider", "hashicorp/random");
  expect(pure).toContain("providers known to be pure: hashicorp/random\n");
  expect(await output("set", "web", "--ask-all-providers")).not.toContain("pure");
  const said = await output("set", "web", "--key-instructions", "ask the\u001b[31m people");
  expect(said).toMatch(/keys of its stacks: ask the.*people/);
  expect(said).not.toContain("\u001b[31m");
  expect(await output("set", "web", "--key-instructions", "")).not.toContain("keys of its stacks");
  const kept = await output("set", "web", "--keys", "client");
  expect(kept).toContain("who has the keys of its stacks: its members alone");
  expect(await output("set", "web", "--keys", "either")).not.toContain("who has the keys");
  const reaction = await output("set", "web", "--provider-reaction", "notify");
  expect(reaction).toContain("where a provider changes: notifications are sent");
  for (const [words, message] of [
    [["set", "web", "--provider-reaction", "apply"], "takes none, notify, plan"],
    [["set", "web", "--keys", "all"], "takes client, server, either"],
    [["set", "web"], "There is nothing to change."],
    [["set", "web", "--required-approvals", "many"], "takes a number"],
    [["set", "web", "--auto-apply", "sometimes"], "takes on_request, never, always"],
    [["set", "web", "--approver", "token:x", "--any-approver"], "excludes --approver"],
    [["set", "web", "--pure-provider", "a/b", "--ask-all-providers"], "excludes --pure-provider"],
    [["create", "web"], '"web"'],
    [["show", "none"], '"none"'],
  ] as const) {
    const refused = await command(...words);
    expect([words, refused.code, refused.error]).toEqual([
      words,
      1,
      expect.stringContaining(message),
    ]);
  }
  expect(await output("delete", "web")).toBe("Deleted the project web.\n");
  expect((await command("delete", "web")).code).toBe(1);
});
