import { cp, mkdtempDisposable, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "@stackwright/core";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
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

describe("the commands for a whole store", { timeout: 60_000 }, () => {
  let cwd: string;

  const run = async (...words: string[]) => tryCommand(words, { cwd, env: KEY });
  const succeed = async (...words: string[]) => {
    const { code, output, error } = await run(...words);
    expect({ code, error }).toEqual({ code: 0, error: "" });
    return output;
  };

  beforeEach(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "command-store-"));
    onTestFinished(() => scratch.remove());
    cwd = scratch.path;
    await writeFile(join(cwd, "main.tf"), TEMPLATE);
    await succeed("up", "--yes");
  });

  it("back up a store, and restore it with its secrets into another one", async () => {
    const backedUp = await succeed("store", "backup", "monday");
    expect(backedUp).toMatch(/^The backup of sqlite:.* is .*monday\n\d+ resources and \d+ blobs/);
    expect(await succeed("store", "verify", "monday")).toContain("monday: intact\n");
    expect(await succeed("store", "verify")).toMatch(/: intact\n\d+ resources, \d+ blobs/);
    expect(await succeed("store", "history")).toMatch(
      /^sqlite:\S+: \d+ commits of \d+ bytes, the oldest of \d{4}-\d\d-\d\dT\S+Z; it keeps up to 16384 commits and 64 MiB, of any age\n$/,
    );
    for (const name of await readdir(join(cwd, "monday"), { recursive: true })) {
      if (!name.includes(".")) continue;
      expect(await readFile(join(cwd, "monday", name), "latin1"), name).not.toContain("hunter2");
    }

    await rm(join(cwd, ".stackwright"), { recursive: true });
    const store = ["--store", "sqlite:other"];
    expect(await succeed("store", "restore", "monday", ...store)).toMatch(
      /^Restored .*monday into sqlite:.*other: \d+ resources, \d+ blobs\.\n$/,
    );
    expect(await succeed("output", "--raw", "word", ...store)).toBe("hunter2hunter2");
    expect(await succeed("plan", ...store)).toContain("No changes");
    const again = await run("store", "restore", "monday", ...store);
    expect(again).toMatchObject({ code: 1, error: expect.stringContaining("not empty") });
  });

  it("work beside a process that writes to the store, but for restore", async () => {
    await succeed("store", "backup", "monday");
    const address = { kind: "sqlite", directory: join(cwd, ".stackwright/store") } as const;
    await using _writer = await openStore(address, { blobDirectory: join(cwd, "none") });
    expect(await succeed("store", "backup", "tuesday")).toContain("tuesday");
    expect(await succeed("store", "verify")).toContain("intact");
    const refused = await run("store", "restore", "monday");
    expect(refused.code).toBe(1);
    expect(refused.error).toContain("The store is in use");
  });

  it("restore a store as it was at a revision or a time behind its backup", async () => {
    await succeed("store", "backup", "monday");
    await writeFile(join(cwd, "main.tf"), TEMPLATE.replace("hunter2hunter2", "swordfish"));
    await succeed("up", "--yes");
    const commits = (await succeed("store", "history", "--list")).trim().split("\n");
    const [revision = "", time = ""] = (commits.at(-1) ?? "").split(/\s+/);
    expect(commits.at(-1)).toMatch(/^\d+ {2}\d{4}-\d\d-\d\dT\S+Z {2}(write |delete) {2}\S+ \S+ "/);
    const from = await succeed("store", "history", "--list", "--since", revision);
    expect(from.trim().split("\n")).toEqual([commits.at(-1)]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await writeFile(join(cwd, "main.tf"), "");
    await succeed("up", "--yes");

    const history = ["--history", "sqlite:.stackwright/store"];
    for (const at of [revision, time]) {
      const store = ["--store", `sqlite:at-${at.length}`];
      const restored = await succeed(
        "store",
        "restore",
        "monday",
        "--at",
        at,
        ...history,
        ...store,
      );
      expect(restored).toMatch(
        new RegExp(`^Restored .*, as sqlite:.* was at revision ${revision}: \\d+ resources`),
      );
      expect(await succeed("output", "--raw", "word", ...store)).toBe("swordfish");
    }
    for (const [words, expected] of [
      [["--at", "tomorrow", ...history], "--at tomorrow: invalid revision or time"],
      [["--at", "2999-01-01T00:00:00Z", ...history], "the time lies ahead"],
      [["--at", "2020-01-01T00:00:00Z", ...history], "take an older backup"],
      [["--at", "999999", ...history], "the history ends at revision"],
      [["--at", "1"], "belong together"],
      [history, "belong together"],
      [["--at", "1", "--history", "sqlite:nowhere"], "There is no store at"],
    ] as const) {
      const refused = await run("store", "restore", "monday", ...words, "--store", "sqlite:new");
      expect(refused).toMatchObject({ code: 1, error: expect.stringContaining(expected) });
    }
  });

  it("make no backup of a moment of the past where the engine answers for the present alone", async () => {
    for (const at of ["1", "2026-03-01T14:30:00Z"]) {
      const refused = await run("store", "backup", "monday", "--at", at);
      expect(refused).toMatchObject({
        code: 1,
        error: expect.stringMatching(
          /is backed up as it is now\.[^]*stackwright admin restore --at/,
        ),
      });
    }
    const invalid = await run("store", "backup", "monday", "--at", "yesterday");
    expect(invalid.error).toContain("--at yesterday: invalid revision or time");
    expect(await readdir(cwd)).not.toContain("monday");
  });

  it("name damaged records by exit code 1, and restore the others on request", async () => {
    await succeed("store", "backup", "monday");
    const file = join(cwd, "monday", "resources.jsonl");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace('"body":"', '"body":"#'));
    const verified = await run("store", "verify", "monday");
    expect(verified.code).toBe(1);
    expect(verified.output).toMatch(/^Damaged: \S+ \S+ ".*: the checksum does not match \(line 1/);
    expect(verified.output).toContain("2 records are damaged");
    const store = ["--store", "sqlite:other"];
    const refused = await run("store", "restore", "monday", ...store);
    expect(refused.code).toBe(1);
    expect(refused.error).toContain("nothing was restored");
    expect(refused.error).toContain("--without-damaged");
    const rest = await run("store", "restore", "monday", "--without-damaged", ...store);
    expect(rest.code).toBe(0);
    expect(rest.error).toMatch(/^Damaged: /);
  });

  it("name, export and drop damaged resources", async () => {
    expect(await succeed("store", "damaged", "list")).toContain(": 0 resources are damaged.\n");
    const path = join(cwd, ".stackwright/store/store.db");
    using database = new DatabaseSync(path);
    const { count } = database.prepare("SELECT count(*) AS count FROM resource").get() as {
      count: number;
    };
    // The newest is a part of the history of the stack, which a plan does not need.
    database.exec(
      "UPDATE resource SET checksum = checksum + 1 WHERE rowid = (SELECT max(rowid) FROM resource)",
    );
    const listed = await run("store", "damaged", "list");
    expect(listed.code).toBe(1);
    expect(listed.output).toMatch(/^\S+ \S+ ".*at version \d+: the checksum .*\n.*1 resource is/);
    const backedUp = await run("store", "backup", "monday");
    expect(backedUp.code).toBe(1);
    expect(backedUp.output).toContain(`\n${count - 1} resources and`);
    expect(backedUp.error).toMatch(/^Lost in the store: \S+ \S+ ".*at version/);
    expect((await run("store", "verify", "monday")).code).toBe(0);
    const verified = await run("store", "verify");
    expect(verified).toMatchObject({ code: 1, output: expect.stringContaining("1 record is") });

    expect(await succeed("store", "damaged", "export", "found.jsonl")).toContain("found.jsonl");
    const again = await run("store", "damaged", "export", "found.jsonl");
    expect(again).toMatchObject({ code: 1, error: expect.stringContaining("exists") });
    expect((await stat(join(cwd, "found.jsonl"))).mode & 0o777).toBe(0o600);
    await writeFile(join(cwd, "other.jsonl"), "{}\n");
    const refused = await run("store", "damaged", "drop", "other.jsonl");
    expect(refused).toMatchObject({ code: 1, error: expect.stringContaining("not an export") });
    const address = { kind: "sqlite", directory: join(cwd, ".stackwright/store") } as const;
    {
      await using _writer = await openStore(address, { blobDirectory: join(cwd, "none") });
      const locked = await run("store", "damaged", "drop", "found.jsonl");
      expect(locked).toMatchObject({ code: 1, error: expect.stringContaining("is in use") });
    }
    expect(await succeed("store", "damaged", "drop", "found.jsonl")).toContain(
      "1 resource is drop",
    );
    expect(await succeed("store", "damaged", "list")).toContain(": 0 resources are damaged.\n");
    expect(await succeed("store", "verify")).toContain("intact");
    const late = await run("store", "damaged", "drop", "found.jsonl");
    expect(late).toMatchObject({ code: 1, error: expect.stringContaining("has changed since") });
  });

  it("refuse what is not a backup, an existing folder, and stores that are elsewhere", async () => {
    await succeed("store", "backup", "monday");
    const cases: [string[], string][] = [
      [["verify", "nothing"], "nothing is not a complete backup"],
      [["backup", "monday"], "monday exists"],
      [["backup", "x", "--store", "sqlite:nowhere"], "There is no store at sqlite:"],
      [["backup", "x", "--store", "stackwright://127.0.0.1:1"], "behind a server"],
      [["backup", "x", "--store", "memory:"], "in memory"],
      [["restore", "nothing", "--store", "sqlite:other"], "nothing is not a complete backup"],
    ];
    for (const [words, expected] of cases) {
      const { code, error } = await run("store", ...words);
      expect({ words, code, error }).toEqual({
        words,
        code: 1,
        error: expect.stringContaining(expected),
      });
    }
    await cp(join(cwd, "monday"), join(cwd, "half"), { recursive: true });
    await rm(join(cwd, "half", "manifest.json"));
    expect((await run("store", "verify", "half")).error).toContain("not a complete backup");
    expect((await readdir(cwd)).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });
});
