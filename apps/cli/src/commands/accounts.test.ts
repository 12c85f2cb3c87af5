import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("accounts are made, named, given the token of an administrator, listed and deleted", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "accounts-command-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const command = async (words: readonly string[], own = token) => {
    const env = { HOME: cwd, STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: own };
    return tryCommand(words, { cwd, env });
  };
  const output = async (words: readonly string[], own = token) => {
    const done = await command(words, own);
    expect([words, done.code, done.error]).toEqual([words, 0, ""]);
    return done.output;
  };

  const made = await output(["accounts", "create", "acme", "--display-name", "Acme"]);
  expect(made).toContain("Created acme (Acme)\n");
  expect(made).toContain("stackwright accounts token acme");
  expect(
    await output(["accounts", "set", "acme", "--description", "of the\u001b[31m shop"]),
  ).toMatch(/^Changed acme \(Acme\), of the.*shop\n$/);
  expect(await output(["accounts", "list"])).toMatch(/^acme \(Acme\), of the.*shop\ndefault\n$/);
  const own = (await output(["accounts", "token", "acme", "--days", "2"])).trim();
  expect(own).toMatch(/^sw_\S{43}$/);
  expect(await output(["projects", "create", "web"], own)).toContain("web");
  expect(await output(["projects", "list"])).not.toContain("web");
  expect(await output(["accounts", "show", "acme"], own)).toContain("  projects: 1\n");
  for (const [words, message, as] of [
    [["accounts", "create", "Shop"], "up to 63 lower case letters", token],
    [["accounts", "delete", "acme"], "projects: 1", token],
    [["accounts", "set", "acme"], "There is nothing to change.", token],
    [["accounts", "token", "acme", "--days", "soon"], "valid number of days", token],
    [["accounts", "list"], "site-admin", own],
    [["accounts", "show", "default"], '"default"', own],
  ] as const) {
    const refused = await command(words, as);
    expect([words, refused.code, refused.error]).toEqual([
      words,
      1,
      expect.stringContaining(message),
    ]);
  }
  await output(["projects", "delete", "web"], own);
  expect(await output(["accounts", "show", "acme"])).toContain("  nothing is in it\n");
  expect(await output(["accounts", "delete", "acme"])).toBe(
    "Deleted the account acme with its users and credentials.\n",
  );
  expect(JSON.parse(await output(["accounts", "list", "--json"]))).toMatchObject([
    { name: "default" },
  ]);
});
