import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("users, teams, roles and tokens are made, listed and ended", { timeout: 60_000 }, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "access-command-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const env = { HOME: cwd, STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token };
  const as = async (own: string, ...words: readonly string[]) =>
    tryCommand(words, { cwd, env: { ...env, STACKWRIGHT_TOKEN: own } });
  const command = async (...words: readonly string[]) => as(token, ...words);
  const output = async (...words: readonly string[]) => {
    const done = await command(...words);
    expect([words, done.code, done.error]).toEqual([words, 0, ""]);
    return done.output;
  };

  expect(await output("users", "list")).toBe("The account has no users.\n");
  expect(await output("users", "create", "bot", "--service", "--display-name", "Builds")).toBe(
    "Created bot: service account, Builds\n",
  );
  expect(await output("users", "identities", "bot")).toBe("The user has no identities.\n");
  expect(await output("teams", "create", "ops", "--group", "platform")).toBe(
    "Created ops: no listed members, groups platform\n",
  );
  expect(await output("teams", "add", "ops", "bot")).toBe("Changed ops: bot, groups platform\n");
  expect(await output("roles", "give", "operator", "--team", "ops", "--project", "web")).toBe(
    "Gave team ops: operator in web\n",
  );
  expect(await output("roles", "list")).toBe("team ops: operator in web\n");
  const made = (await output("tokens", "create", "--user", "bot", "--role", "planner")).trim();
  expect(made).toMatch(/^sw_/);
  const own = JSON.parse((await as(made, "tokens", "list", "--json")).output) as { id: string }[];
  expect(own).toMatchObject([{ user: "bot", roles: ["planner"] }]);
  expect((await as(made, "users", "list")).error).toContain("role admin of the account");
  expect(await output("users", "disable", "bot")).toContain("disabled");
  expect((await as(made, "tokens", "list")).code).toBe(1);
  expect(await output("users", "enable", "bot")).not.toContain("disabled");
  const id = own[0]?.id ?? "";
  expect(await output("tokens", "revoke", id)).toBe(`Revoked ${id}.\n`);
  expect((await as(made, "tokens", "list")).code).toBe(1);
  const worker = ["--role", "worker", "--project", "web", "--description", "builder 1"] as const;
  expect(await output("tokens", "create", ...worker)).toMatch(/^sw_\S+\n$/);
  const tokens = JSON.parse(await output("tokens", "list", "--json")) as { roles: string[] }[];
  expect(tokens.find(({ roles }) => roles.includes("worker") && roles.length === 1)).toMatchObject({
    projects: ["web"],
    description: "builder 1",
  });
  expect(await output("roles", "take", "--team", "ops", "--project", "web")).toContain("ops away");
  expect(await output("teams", "remove", "ops", "bot")).toContain("no listed members");
  expect(await output("teams", "delete", "ops")).toBe("Deleted the team ops.\n");
  for (const [words, message] of [
    [["roles", "give", "king", "--user", "bot"], '"king" is not a valid role'],
    [["roles", "give", "viewer"], "--user"],
    [["roles", "give", "viewer", "--user", "none"], 'no User "none"'],
    [["tokens", "create", "--role", "viewer"], "belongs to no user"],
    [["tokens", "create", "--role", "viewer", "--pool", "inside"], "has no pool"],
    [["tokens", "create", "--role", "worker", "--user", "bot"], "is not of a user"],
    [["tokens", "create", "--role", "worker", "--pool", "IN"], "The token was not made"],
    [["users", "create", "bot"], 'There is a user "bot"'],
    [["users", "link", "bot", "--provider", "corp", "--subject", "1"], 'sign in with no "corp"'],
    [["users", "unlink", "bot", "0".repeat(64)], "has no identity"],
    [["teams", "create", "net", "--group", "net", "--provider", "corp"], 'with no "corp"'],
  ] as const) {
    const refused = await command(...words);
    expect([words, refused.code, refused.error]).toEqual([
      words,
      1,
      expect.stringContaining(message),
    ]);
  }
});
