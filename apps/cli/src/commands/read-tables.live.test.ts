import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openStore, parseStoreAddress, readStoreLayout } from "@stackwright/core";
import { expect, test } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const { TEST_POSTGRES_URL: server = "", TEST_POSTGRES_BIN: programs = "" } = process.env;
const run = promisify(execFile);

const psql = async (url: string, statement: string): Promise<void> => {
  await run(join(programs, "psql"), ["--no-psqlrc", "--quiet", "--command", statement, url]);
};

test.skipIf(server === "")(
  "commands that read a store in PostgreSQL make no tables, and leave those of an older release as they are",
  async () => {
    await using scratch = await mkdtempDisposable(`${tmpdir()}/read-tables-`);
    const database = `read_${randomUUID().replaceAll("-", "_")}`;
    const url = new URL(server);
    url.pathname = database;
    const address = parseStoreAddress(url.href, scratch.path);
    await psql(server, `CREATE DATABASE ${database}`);
    try {
      const refusals = async () => {
        const said: string[] = [];
        for (const words of [
          ["backup", "copy"],
          ["verify"],
          ["history"],
          ["damaged", "list"],
          ["migrate", "sqlite:other"],
          ["doctor", "--key-variable", "KEY"],
        ]) {
          const { code, error } = await tryCommand(["admin", ...words, "--store", url.href], {
            cwd: scratch.path,
          });
          said.push(`${words[0]} ${code} ${error.split("\n")[0]}`);
        }
        return said;
      };
      const none = await readStoreLayout(address);
      for (const one of await refusals()) expect(one).toMatch(/ 1 .*(?:no store at|layout 0)/);
      expect(await readStoreLayout(address)).toEqual({ ...none, stored: 0 });
      const upgrade = async () =>
        tryCommand(["admin", "upgrade", "--dry-run", "--store", url.href], { cwd: scratch.path });
      expect(await upgrade()).toMatchObject({
        code: 2,
        output: expect.stringContaining("no tables yet"),
      });

      await (await openStore(address, { blobDirectory: scratch.path }))[Symbol.asyncDispose]();
      const newest = await readStoreLayout(address);
      await psql(
        url.href,
        "DELETE FROM migration WHERE created_at = (SELECT max(created_at) FROM migration)",
      );
      const former = { ...newest, stored: (newest?.stored ?? 0) - 1 };
      expect(await readStoreLayout(address)).toEqual(former);
      for (const one of await refusals())
        expect(one).toMatch(/ 1 .*layout \d+ of an older release/);
      expect(await readStoreLayout(address)).toEqual(former);
    } finally {
      await psql(server, `DROP DATABASE ${database} WITH (FORCE)`);
    }
  },
  120_000,
);
