import { chmod, mkdtempDisposable, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "@stackwright/core";
import type { BootstrapCredentials } from "@stackwright/engine";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

const TEMPLATE = `
variable "word" {
  default   = "hunter2hunter2"
  sensitive = true
}
resource "terraform_data" "a" { input = var.word }
output "word" {
  value     = terraform_data.a.output
  sensitive = true
}
`;
const KEY = { STACKWRIGHT_KEY: Buffer.alloc(32, 7).toString("base64") };
const STORE = ".stackwright/store";

let cwd: string;
const run = async (...words: string[]) => tryCommand(words, { cwd, env: { ...KEY, HOME: cwd } });
const succeed = async (...words: string[]) => {
  const { code, output, error } = await run(...words);
  expect({ words, code, error }).toEqual({ words, code: 0, error: "" });
  return output;
};

/** Applies a stack to the embedded store of the folder. */
const applied = async (): Promise<void> => {
  await writeFile(join(cwd, "main.tf"), TEMPLATE);
  await succeed("up", "--yes");
};

beforeEach(async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "command-admin-"));
  onTestFinished(() => scratch.remove());
  cwd = scratch.path;
});

describe("the group admin", () => {
  it("has everything for operators in one place", async () => {
    const { output, error } = await run("admin");
    const all = output + error;
    const names = [...all.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        "backup",
        "restore",
        "thaw",
        "verify",
        "migrate",
        "upgrade",
        "history",
        "damaged",
        "bootstrap",
        "list-keys",
        "rotate-keys",
        "retention",
        "doctor",
      ]),
    );
    const help = await succeed("--help");
    expect(help).toMatch(/^ {2}admin\|store /m);
    for (const former of ["bootstrap", "server-key"]) expect(help).not.toContain(`  ${former} `);
    expect(await succeed("server", "--help")).not.toContain("doctor");
  });

  it.each([
    ["store", "admin"],
    ["store backup", "admin backup"],
    ["bootstrap", "admin bootstrap"],
    ["server-key list", "admin list-keys"],
    ["server-key rotate", "admin rotate-keys"],
    ["server doctor", "admin doctor"],
  ])("accepts %s for %s", async (former, name) => {
    const helpOf = async (words: string) =>
      (await succeed(...words.split(" "), "--help")).replace(/^Usage: .*\n/, "");
    expect(await helpOf(former)).toBe(await helpOf(name));
  });

  it("makes first credentials and rotates the key of a server", async () => {
    const store = ["--store", "sqlite:data"];
    const made = JSON.parse(await succeed("admin", "bootstrap", ...store)) as BootstrapCredentials;
    expect(made.token).toMatch(/^sw_/);
    for (const words of [["list-keys"], ["rotate-keys"], ["retention", "enforce"]]) {
      const nowhere = await run("admin", ...words, "--store", "sqlite:nowhere");
      expect(nowhere).toMatchObject({ code: 1, error: expect.stringContaining("no store at") });
      expect(await readdir(cwd)).not.toContain("nowhere");
    }
    const again = await run("bootstrap", ...store);
    expect(again).toMatchObject({ code: 1, error: expect.stringContaining("--again") });
    const before = await succeed("admin", "list-keys", ...store);
    expect(await succeed("admin", "rotate-keys", ...store)).toContain("encrypts all secrets");
    expect(await succeed("server-key", "list", ...store)).not.toBe(before);
  });
});

describe("admin migrate", { timeout: 60_000 }, () => {
  it("copies a store with its secrets into another one, and leaves the former as it is", async () => {
    await applied();
    const moved = await succeed("admin", "migrate", "sqlite:other");
    expect(moved).toMatch(/^sqlite:\S+other has all of sqlite:\S+ and is intact: \d+ resources/);
    for (const store of ["sqlite:other", `sqlite:${STORE}`]) {
      expect(await succeed("output", "--raw", "word", "--store", store)).toBe("hunter2hunter2");
      expect(await succeed("plan", "--store", store)).toContain("No changes");
    }
    await succeed("admin", "migrate", "sqlite:third", "--through", "kept");
    expect(await succeed("admin", "verify", "kept")).toContain("intact");
  });

  it("refuses what would lose something, and writes nothing then", async () => {
    await applied();
    const itself = await run("admin", "migrate", `sqlite:${STORE}`);
    expect(itself).toMatchObject({ code: 1, error: expect.stringContaining("the store itself") });
    const address = { kind: "sqlite", directory: join(cwd, STORE) } as const;
    {
      await using _writer = await openStore(address, { blobDirectory: join(cwd, "none") });
      const used = await run("admin", "migrate", "sqlite:other");
      expect(used).toMatchObject({ code: 1, error: expect.stringContaining("is in use") });
      // It is refused behind a server as well.
      expect(used.error).not.toContain("stackwright://");
    }
    await succeed("admin", "migrate", "sqlite:full");
    const full = await run("admin", "migrate", "sqlite:full");
    expect(full).toMatchObject({ code: 1, error: expect.stringContaining("not empty") });
    {
      using database = new DatabaseSync(join(cwd, STORE, "store.db"));
      database.exec(
        "UPDATE resource SET checksum = checksum + 1 WHERE rowid = (SELECT max(rowid) FROM resource)",
      );
    }
    const damaged = await run("admin", "migrate", "sqlite:other");
    expect(damaged.code).toBe(1);
    expect(damaged.error).toMatch(/^Lost in the store: .*\n[^]*nothing was copied/);
    expect(await readdir(cwd)).not.toContain("other");
  });
});

describe("admin upgrade", { timeout: 60_000 }, () => {
  const change = (statements: string): void => {
    using database = new DatabaseSync(join(cwd, STORE, "store.db"));
    database.exec(statements);
  };

  it("says which layout the tables have, and brings them to that of the release", async () => {
    await applied();
    const current = await succeed("admin", "upgrade", "--dry-run");
    expect(current).toMatch(
      /: the tables have layout 4, that of this release\.\nThis release reads all \d+ records\.\nNo server, worker or command changes the store now\.\n$/,
    );

    change("DROP TABLE history; PRAGMA user_version = 3");
    for (let times = 0; times < 2; times += 1) {
      const due = await run("admin", "upgrade", "--dry-run");
      expect(due.code).toBe(2);
      expect(due.output).toContain("have layout 3, this release works with 4. Save a backup");
    }
    // It stays of use to the release before.
    const moved = await run("admin", "migrate", "sqlite:other");
    expect(moved).toMatchObject({ code: 1, error: expect.stringContaining("admin upgrade") });
    expect(await readdir(cwd)).not.toContain("other");
    expect((await run("admin", "upgrade", "--dry-run")).code).toBe(2);
    await succeed("admin", "verify");
    await succeed("admin", "backup", "copy");
    const target = await run("admin", "restore", "copy");
    expect(target).toMatchObject({
      code: 1,
      error: expect.stringContaining("of an older release"),
    });
    expect((await run("admin", "upgrade", "--dry-run")).code).toBe(2);
    const address = { kind: "sqlite", directory: join(cwd, STORE) } as const;
    expect(await succeed("admin", "upgrade")).toContain("have layout 4 now; it was 3");
    expect(JSON.parse(await succeed("admin", "upgrade", "--json"))).toMatchObject({
      former_layout: 4,
      layout: 4,
      newest_layout: 4,
    });
    expect(await succeed("plan")).toContain("No changes");

    change("DROP TABLE history; PRAGMA user_version = 3");
    {
      // The process that holds the store has opened it with the tables of before.
      await using _writer = await openStore(address, { blobDirectory: join(cwd, "none") });
      change("DROP TABLE history; PRAGMA user_version = 3");
      const used = await run("admin", "upgrade");
      expect(used).toMatchObject({ code: 1, error: expect.stringContaining("is in use") });
    }
    change("PRAGMA user_version = 99");
    for (const words of [
      ["admin", "upgrade"],
      ["admin", "upgrade", "--dry-run"],
    ]) {
      const newer = await run(...words);
      expect(newer).toMatchObject({ code: 1, error: expect.stringContaining("layout 99") });
    }
    const none = await run("admin", "upgrade", "--store", "sqlite:nowhere");
    expect(none).toMatchObject({ code: 1, error: expect.stringContaining("There is no store") });
  });
});

describe("admin retention", { timeout: 60_000 }, () => {
  it("shows the bounds of a server, from its file and its options", async () => {
    await writeFile(
      join(cwd, "server.json"),
      JSON.stringify({ store: "sqlite:data", runs: { days: 30 }, auditDays: 10 }),
    );
    const words = ["--config", "server.json", "--run-log-days", "7", "--history-hours", "24"];
    const shown = await succeed("admin", "retention", "show", ...words);
    expect(shown).toMatch(
      /^ended runs +200 of a stack, 30 days \(--runs-per-stack, --run-days\)$/m,
    );
    expect(shown).toMatch(/^events and logs of ended runs +7 days /m);
    expect(shown).toMatch(/^audit trail +10 days /m);
    expect(shown).toMatch(/^history of the store +24 hours /m);
    // Nothing is opened, so nothing is made.
    expect(await readdir(cwd)).toEqual(["server.json"]);
  });

  it("removes what is past its bounds at once, and no more", async () => {
    await applied();
    for (const word of ["one", "two", "three"]) {
      await succeed("plan", "--var", `word=${word}`, "--out", `${word}.plan`);
    }
    const store = ["--store", `sqlite:${STORE}`];
    expect(await succeed("admin", "retention", "enforce", ...store)).not.toContain("plans");
    const enforce = async (...options: string[]) =>
      succeed("admin", "retention", "enforce", ...store, ...options);
    const removed = JSON.parse(await enforce("--plans-per-stack", "1", "--json")) as object;
    expect(removed).toMatchObject({ removed: { plans: 2, runs: 0 } });
    expect(await enforce("--plans-per-stack", "1")).toBe("Nothing is past its time.\n");
    {
      using database = new DatabaseSync(join(cwd, STORE, "store.db"));
      database.exec(
        "UPDATE resource SET checksum = checksum + 1 WHERE rowid = (SELECT max(rowid) FROM resource)",
      );
    }
    const damaged = await run("admin", "retention", "enforce", ...store);
    expect(damaged.code).toBe(1);
    expect(damaged.output).toMatch(/^Nothing is past its time\.\nDamaged: \S+ \S+ \S+: /);
    expect(damaged.output).toContain("1 record damaged: no blobs are removed until");
    expect((await run("admin", "upgrade", "--dry-run")).output).toMatch(
      /\d+ records were read\.\nDamaged \(see stackwright admin damaged\): 1\n/,
    );
  });

  it("lists in a dry run what it would remove, by name, and removes nothing", async () => {
    await applied();
    for (const word of ["one", "two", "three"]) {
      await succeed("plan", "--var", `word=${word}`, "--out", `${word}.plan`);
    }
    const words = [
      "--store",
      `sqlite:${STORE}`,
      "--plans-per-stack",
      "1",
      "--history-commits",
      "5",
    ];
    const enforce = async (...more: string[]) =>
      succeed("admin", "retention", "enforce", ...words, ...more);
    const address = { kind: "sqlite", directory: join(cwd, STORE) } as const;
    {
      await using _writer = await openStore(address, { blobDirectory: join(cwd, "none") });
      const text = await enforce("--dry-run");
      expect(text).toMatch(/^Would be removed; nothing was:\n {2}plans: 2\n/);
      expect(text).toMatch(/Records:\n {2}StackPlan: 2\n {4}default\/default \S+\n {4}default/);
    }
    const { records, would_remove: counts } = JSON.parse(await enforce("--dry-run", "--json")) as {
      readonly records: readonly { readonly kind: string }[];
      readonly would_remove: object;
    };
    expect(records.map(({ kind }) => kind)).toEqual(["StackPlan", "StackPlan"]);
    expect(counts).toMatchObject({ plans: 2 });
    expect(await succeed("admin", "history")).toContain("it keeps up to 16384 commits");
    const removed = JSON.parse(await enforce("--json")) as object;
    expect(removed).toMatchObject({ removed: { plans: 2 } });
    expect((await run("up", "--yes", "one.plan")).code).toBe(1);
    expect(await succeed("up", "--yes", "three.plan")).toContain("1 changed");
    await enforce("--history-commits", "5");
    expect(await succeed("admin", "history")).toContain("it keeps up to 5 commits");
    await enforce();
    expect(await succeed("admin", "history")).toContain("it keeps up to 5 commits");
  });
});

describe("admin doctor on a store", { timeout: 60_000 }, () => {
  const doctor = async (...words: string[]) =>
    run("admin", "doctor", "--store", "sqlite:data", ...words);

  it("says what a server says, of all accounts, beside the server and without it", async () => {
    const { server } = await startServer("none", { store: `sqlite:${join(cwd, "data")}` });
    const healthy = await doctor();
    expect(healthy).toMatchObject({ code: 0, output: "Nothing is stuck.\n", error: "" });
    const expireTimeMs = Date.now() + 3_600_000;
    for (const account of ["default", "other"]) {
      const token = { account, roles: ["admin"] as const, projects: [], expireTimeMs };
      const made = await server.credentials.createToken(token);
      // The end of one that was never used concerns no one.
      const headers = { authorization: `Bearer ${made.token}` };
      const answer = await fetch(`${server.url}/api/v1/doctor`, { headers });
      expect(answer.status).toBe(200);
    }
    await server.close();
    const found = await doctor();
    expect(found.code).toBe(0);
    expect(found.output).toMatch(/^warning token_expires \(default\): token-\w+ ends at /m);
    expect(found.output).toMatch(/^warning token_expires \(other\): token-\w+ ends at /m);
    const one = await doctor("--account", "other", "--strict", "--json");
    expect(one.code).toBe(2);
    expect(JSON.parse(one.output)).toMatchObject({
      total: 1,
      findings: [{ account: "other", code: "token_expires" }],
    });
  });

  it("examines the store of the environment, unless that names a server or is one", async () => {
    const { server, token } = await startServer("none", { store: `sqlite:${join(cwd, "data")}` });
    const account = { account: "other", roles: ["reader"] as const, projects: [] };
    const expireTimeMs = Date.now() + 3_600_000;
    const made = await server.credentials.createToken({ ...account, expireTimeMs });
    const headers = { authorization: `Bearer ${made.token}` };
    await fetch(`${server.url}/api/v1/doctor`, { headers });
    const of = async (env: NodeJS.ProcessEnv, ...words: string[]) =>
      tryCommand(["admin", "doctor", ...words], { cwd, env: { HOME: cwd, ...env } });
    const store = { STACKWRIGHT_STORE: "sqlite:data" };
    // It is of another account than the token is.
    const ofStore = /^warning token_expires: /;
    expect((await of(store)).output).toMatch(ofStore);
    const own = { STACKWRIGHT_SERVE_STORE: "sqlite:data" };
    expect((await of({ ...own, STACKWRIGHT_STORE: "stackwright://a.test:1" })).output).toMatch(
      ofStore,
    );
    expect((await of(store, "--account", "other", "--strict")).code).toBe(2);
    const asked = { STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token };
    expect((await of({ ...store, ...asked })).output).toBe("Nothing is stuck.\n");
    const named = await of({ ...store, STACKWRIGHT_TOKEN: token }, "--server", server.url);
    expect(named.output).toBe("Nothing is stuck.\n");
    const remote = await of({ STACKWRIGHT_STORE: "stackwright://127.0.0.1:1" });
    expect(remote.error).toContain("not logged in");
  });

  it("names a damaged record of any kind, and examines the rest", async () => {
    await applied();
    await succeed("admin", "bootstrap", "--again", "--store", `sqlite:${STORE}`);
    using database = new DatabaseSync(join(cwd, STORE, "store.db"));
    for (const kind of ["Stack", "StackKeys", "AccessKey", "AccessToken"]) {
      const row = `(SELECT rowid FROM resource WHERE instr(CAST(key AS TEXT), char(0) || '${kind}' || char(0)) > 0 LIMIT 1)`;
      const shift = (by: number) =>
        database.exec(`UPDATE resource SET checksum = checksum + ${by} WHERE rowid = ${row}`);
      shift(1);
      const found = await run("admin", "doctor", "--store", `sqlite:${STORE}`);
      shift(-1);
      expect(found).toMatchObject({ code: 2, error: "" });
      expect(found.output).toMatch(new RegExp(`^error record_damaged.*${kind} "`, "m"));
    }
  });

  it("names keys that are missing, makes none, and does without them", async () => {
    const { server } = await startServer("none", { store: `sqlite:${join(cwd, "data")}` });
    await server.close();
    const file = join(cwd, "data", "registry.key");
    const other = Buffer.alloc(32, 9).toString("base64");
    await writeFile(join(cwd, "other.key"), other);
    await chmod(join(cwd, "other.key"), 0o600);
    const wrong = await doctor("--key-file", join(cwd, "other.key"));
    expect(wrong.code).toBe(2);
    expect(wrong.output).toMatch(/^error key_unavailable: /);
    const none = await doctor("--key-file", join(cwd, "no.key"));
    expect(none).toMatchObject({ code: 1, error: expect.stringContaining("no.key") });
    await rm(file);
    const without = await doctor();
    expect(without).toMatchObject({ code: 0, output: "Nothing is stuck.\n" });
    expect(without.error).toContain("The keys were not examined: there is no key file");
    await expect(stat(file)).rejects.toThrow("ENOENT");
  });

  it("refuses what it cannot examine", async () => {
    expect((await doctor("--server", "http://127.0.0.1:1")).error).toContain("exclude each other");
    expect((await run("admin", "doctor", "--key-file", "x")).error).toContain("belongs to --store");
    for (const empty of [["--account"], ["--account", ""], ["--account="]]) {
      const unnamed = await doctor(...empty);
      expect(unnamed).toMatchObject({
        code: 1,
        error: expect.stringContaining("the name of an account"),
      });
    }
    const nowhere = await doctor();
    expect(nowhere).toMatchObject({ code: 1 });
    await expect(readFile(join(cwd, "data", "registry.key"))).rejects.toThrow("ENOENT");
  });
});
