import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openStore, parseStoreAddress } from "@stackwright/core";
import { tenancyOf } from "@stackwright/storage";
import { createLeases } from "@stackwright/storage/lease";
import { expect, test } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const { TEST_POSTGRES_URL: server = "", TEST_POSTGRES_BIN: programs = "" } = process.env;
const run = promisify(execFile);

const psql = async (statement: string): Promise<void> => {
  await run(join(programs, "psql"), ["--no-psqlrc", "--quiet", "--command", statement, server]);
};

test.skipIf(server === "")(
  "a shared store is not moved while a server works on it, and an upgrade names that server",
  async () => {
    await using scratch = await mkdtempDisposable(`${tmpdir()}/store-in-use-`);
    const database = `in_use_${randomUUID().replaceAll("-", "_")}`;
    const url = new URL(server);
    url.pathname = database;
    const address = parseStoreAddress(url.href, scratch.path);
    await psql(`CREATE DATABASE ${database}`);
    try {
      await using store = await openStore(address, { blobDirectory: scratch.path });
      const leases = createLeases({ storage: store.storage, owner: "one" });
      const lease = await leases.acquire({
        tenancy: tenancyOf({ kind: "site" }),
        name: "worker.one",
      });
      const admin = async (...words: string[]) =>
        tryCommand(["admin", ...words, "--store", url.href], { cwd: scratch.path });
      const refused = await admin("migrate", "sqlite:other");
      expect(refused.code).toBe(1);
      expect(refused.error).toMatch(/is in use: server one\. Nothing was copied\.\n/);
      const upgrade = await admin("upgrade", "--dry-run");
      expect(upgrade).toMatchObject({
        code: 0,
        output: expect.stringContaining(
          "server one, which says no release: one before that of this command",
        ),
      });
      await lease.release();
      const moved = await admin("migrate", "sqlite:other");
      expect(moved).toMatchObject({ code: 0, output: expect.stringContaining("is intact") });
    } finally {
      await psql(`DROP DATABASE ${database} WITH (FORCE)`);
    }
  },
  180_000,
);
