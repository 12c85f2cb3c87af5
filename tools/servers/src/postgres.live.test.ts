import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import postgres from "postgres";
import { describe, expect, it } from "vitest";
import { isAlive } from "./child-processes.ts";
import { startPostgres } from "./postgres.ts";
import { findPostgres } from "./postgres-installation.ts";

const installations = findPostgres();
if (installations.length === 0) process.stdout.write("skipped: PostgreSQL is not installed\n");

describe.each(installations)("PostgreSQL $version ($source)", (installation) => {
  it("serves over loopback with its own durability settings", async () => {
    await using server = await startPostgres({ installation, settings: { work_mem: "1MB" } });
    await using sql = disposable(server.url);
    const [row] = await sql.query`
      SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
        current_setting('full_page_writes') AS pages, current_setting('work_mem') AS work_mem,
        current_setting('listen_addresses') AS address, current_setting('server_encoding') AS enc,
        split_part(current_setting('server_version'), ' ', 1) AS version`;
    expect(row).toEqual({
      fsync: "on",
      commit: "on",
      pages: "on",
      work_mem: "1MB",
      address: "127.0.0.1",
      enc: "UTF8",
      version: installation.version,
    });
  });

  it("demands the password", async () => {
    await using server = await startPostgres({ installation });
    await using sql = disposable(server.url.replace(/:[0-9a-f]{24}@/, ":wrong@"));
    await expect(sql.query`SELECT 1`).rejects.toMatchObject({ code: "28P01" });
  });

  it("keeps what was committed over kill -9, and comes back on the same port", async () => {
    await using server = await startPostgres({ installation });
    const pid = server.pid!;
    {
      await using sql = disposable(server.url);
      await sql.query`CREATE TABLE kept AS SELECT 42 AS answer`;
      const long = sql.query`SELECT pg_sleep(600)`.catch((error: unknown) => error);
      await server.kill9();
      expect(await long).toBeInstanceOf(Error);
    }
    expect(isAlive(pid)).toBe(false);
    await server.restart();
    await using sql = disposable(server.url);
    expect(await sql.query`SELECT answer FROM kept`).toEqual([{ answer: 42 }]);
  });

  it("leaves nothing behind", async () => {
    const server = await startPostgres({ installation });
    const { pid, dataDir } = server;
    expect(statSync(dataDir).mode & 0o077).toBe(0);
    await server.stop();
    expect([isAlive(pid!), existsSync(dataDir)]).toEqual([false, false]);
  });

  it("fails with the server's own words", async () => {
    const start = startPostgres({ installation, settings: { shared_buffers: "much" } });
    await expect(start).rejects.toMatchObject({
      code: "SERVER_START_FAILED",
      message: expect.stringContaining('"shared_buffers": "much"') as string,
    });
  });
});

const fromNpm = installations.find(({ source }) => source === "npm");

it.skipIf(process.getuid?.() !== 0 || !fromNpm)(
  "serves from a checkout that the server's account cannot enter",
  async () => {
    const home = mkdtempSync(join(tmpdir(), "stackwright-private-home-"));
    try {
      chmodSync(home, 0o700);
      cpSync(dirname(fromNpm!.bin), join(home, "native"), {
        recursive: true,
        verbatimSymlinks: true,
      });
      const installation = { ...fromNpm!, bin: join(home, "native", "bin") };
      await using server = await startPostgres({ installation });
      await using sql = disposable(server.url);
      expect(await sql.query`SELECT 1 AS one`).toEqual([{ one: 1 }]);
    } finally {
      rmSync(home, { recursive: true });
    }
  },
);

function disposable(url: string) {
  const query = postgres(url, { max: 2, connection: { TimeZone: "UTC" }, onnotice: () => {} });
  return { query, [Symbol.asyncDispose]: () => query.end({ timeout: 1 }) };
}
