import { execFile } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("a repository is connected, changed, listed and disconnected", { timeout: 60_000 }, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "vcs-command-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const env = {
    HOME: cwd,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_PROJECT: "web",
  };
  const vcs = async (...words: readonly string[]) => tryCommand(["vcs", ...words], { cwd, env });
  await promisify(execFile)("git", ["init", "--quiet", "--bare", join(cwd, "infra.git")]);
  await writeFile(join(cwd, "token"), "t0ken\n");

  expect((await vcs("list")).output).toBe("The project web has no connected repositories.\n");
  const incomplete = await vcs("connect", "infra");
  expect([incomplete.code, incomplete.error]).toEqual([1, expect.stringContaining("--kind")]);
  const url = "https://git.example.com/acme/infra.git";
  const made = await vcs(
    "connect",
    "infra",
    "--kind",
    "gitea",
    "--repository-url",
    url,
    "--repository",
    "acme/infra",
    "--api-url",
    "https://git.example.com/api/v1",
    "--attach",
    "one=live/one",
    "--token-file",
    "token",
  );
  expect(made.code, made.error).toBe(0);
  expect(made.output).toMatch(/^Connected infra: gitea .*, main, manual, one=live\/one\n/);
  expect(made.output).toContain(`Webhook: ${server.url}/hooks/vcs/default/web/infra\nSecret:  `);
  const changed = await vcs("connect", "infra", "--apply", "on_merge", "--attach", "two=");
  expect(changed.output).toBe(`Changed infra: gitea ${url}, main, on_merge, two=\n`);
  const shown = await vcs("list", "--json");
  expect(JSON.parse(shown.output)).toMatchObject([{ name: "infra", has_token: true }]);
  expect(shown.output).not.toContain("t0ken");
  expect((await vcs("sync", "infra")).output).toBe("The branch of infra is compared.\n");
  expect((await vcs("tasks", "infra")).output).toContain("the branch: ");
  expect((await vcs("pull-requests", "infra")).output).toBe("infra has no pull requests.\n");
  for (const [words, message] of [
    [["pull-requests", "infra", "7"], 'no pull request "7"'],
    [["connect", "infra", "--apply", "always"], "not valid for --apply"],
    [["connect", "infra", "--attach", "two"], "is not STACK=FOLDER"],
    [["connect", "infra", "--repository-url", "http://git.example.com/x"], "use https"],
    [["connect", "infra", "--repository-url", "file:///etc"], "--vcs-folder"],
    [["connect", "infra", "--repository-url", "https://a:b@git.example.com/x"], "no credentials"],
    [["connect", "infra", "--kind", "github"], "of the kind gitea"],
    [["disconnect", "other"], 'no connection "other"'],
  ] as const) {
    const refused = await vcs(...words);
    expect([words, refused.code, refused.error]).toEqual([
      words,
      1,
      expect.stringContaining(message),
    ]);
  }
  expect((await vcs("disconnect", "infra")).output).toBe("Disconnected infra.\n");
  expect((await vcs("list", "--json")).output).toBe("[]\n");
});
