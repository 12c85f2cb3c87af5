import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { assertCode, assertSame } from "../../testing/assertions.ts";
import { postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage } from "../postgres.ts";
import { Connections, resolveConnectionOptions } from "./connections.ts";

interface Role {
  readonly name: string;
  readonly url: string;
  /** Runs a statement of the administrator. */
  readonly ask: (statement: string) => Promise<readonly Record<string, unknown>[]>;
  /** The processes of the server that serve the role. */
  readonly sessions: () => Promise<readonly number[]>;
}

/** Calls with a role of its own that may make a schema of its name. */
async function withRole(url: string, use: (role: Role) => Promise<void>): Promise<void> {
  const admin = postgres(url, { max: 1, onnotice: () => undefined });
  const name = `role_${randomUUID().replaceAll("-", "_")}`;
  const ask: Role["ask"] = (statement) => admin.unsafe(statement);
  await ask(`CREATE ROLE ${name} LOGIN PASSWORD 'for this test'`);
  try {
    const [database] = await ask("SELECT quote_ident(current_database()) AS name");
    await ask(`GRANT CREATE ON DATABASE ${String(database?.name)} TO ${name}`);
    const own = new URL(url);
    own.username = name;
    own.password = encodeURIComponent("for this test");
    const sessions = async (): Promise<readonly number[]> => {
      const rows = await ask(`SELECT pid FROM pg_stat_activity WHERE usename = '${name}'`);
      return rows.map(({ pid }) => Number(pid));
    };
    await use({ name, url: own.href, ask, sessions });
  } finally {
    await ask(`DROP OWNED BY ${name} CASCADE`);
    await ask(`DROP ROLE ${name}`);
    await admin.end();
  }
}

describe.each(postgresServers())("$name", { timeout: 60_000 }, ({ url }) => {
  test("an instance whose server gives no further connection works with those that it has", async () => {
    await withRole(url, async (role) => {
      await using storage = await createPostgresStorage({ url: role.url, schema: role.name });
      const stored = await storage.writeCAS(sample(A1, HOME, "web"));
      // That of the preparation ends by itself.
      await expect.poll(role.sessions).toHaveLength(1);
      const before = await role.sessions();
      await role.ask(`ALTER ROLE ${role.name} CONNECTION LIMIT 1`);

      const reads = Array.from({ length: 20 }, () => storage.read("strong", stored.id));
      const written = storage.writeCAS(stored);
      for (const read of await Promise.all(reads)) expect(read.id).toEqual(stored.id);
      assertSame(await storage.read("strong", stored.id), await written);
      expect(await role.sessions()).toEqual(before);
    });
  });

  test("an instance that has none says which limit that is, and works again without a restart", async () => {
    await withRole(url, async (role) => {
      // Its close waits for calls in progress alone, not for connections that broke under one.
      const timeoutMs = 600_000;
      await using storage = await createPostgresStorage({
        url: role.url,
        schema: role.name,
        timeoutMs,
      });
      const stored = await storage.writeCAS(sample(A1, HOME, "web"));
      await role.ask(`ALTER ROLE ${role.name} CONNECTION LIMIT 0`);
      await role.ask(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role.name}'`,
      );
      await expect.poll(role.sessions).toEqual([]);
      const limit = "has no connection left: too many connections for role";
      // The first call may find its connection closed, before anything is asked for a new one.
      await expect
        .poll(() => storage.read("strong", stored.id).then(() => "", String))
        .toContain(limit);
      const refused = await Promise.all(
        Array.from({ length: 20 }, () =>
          assertCode(storage.writeCAS(stored), "STORAGE_INCONSISTENT"),
        ),
      );
      for (const { message, details } of refused) {
        expect(message).toContain(limit);
        expect(details).toMatchObject({ outcome: "not-applied" });
      }
      await role.ask(`ALTER ROLE ${role.name} CONNECTION LIMIT -1`);
      assertSame(await storage.read("strong", stored.id), stored);
    });
  });

  test("a list in pages takes the connection of an older one where there is no further", async () => {
    await withRole(url, async (role) => {
      const options = { url: role.url, schema: role.name, connections: 1 };
      await using storage = await createPostgresStorage(options);
      for (const name of ["a", "b", "c"]) await storage.writeCAS(sample(A1, HOME, name));
      // The one for calls; that of the preparation ends by itself.
      await expect.poll(role.sessions).toHaveLength(1);
      await role.ask(`ALTER ROLE ${role.name} CONNECTION LIMIT 2`);

      const page = (continueAfter?: string) =>
        storage.listPage("strong", A1, HOME, "", { limit: 2, continueAfter });
      const older = await page();
      const newer = await page();
      expect((await page(newer.continuation)).resources).toHaveLength(1);
      await assertCode(page(older.continuation), "STORAGE_LIST_EXPIRED");
      // There is none to end where calls alone have connections.
      await role.ask(`ALTER ROLE ${role.name} CONNECTION LIMIT 1`);
      const { message } = await assertCode(page(), "STORAGE_INCONSISTENT");
      expect(message).toContain("has no connection left");
    });
  });

  test("what a role sets ends no session of a store", async () => {
    await withRole(url, async (role) => {
      const known = await role.ask(`
        SELECT name FROM pg_settings WHERE name IN ('idle_session_timeout', 'lock_timeout', 'statement_timeout',
          'idle_in_transaction_session_timeout', 'transaction_timeout') ORDER BY name`);
      const names = known.map(({ name }) => String(name));
      for (const name of names) await role.ask(`ALTER ROLE ${role.name} SET ${name} = '60s'`);
      const connections = new Connections(resolveConnectionOptions({ url: role.url }));
      const [version] = await role.ask("SELECT current_setting('server_version_num')::int AS is");
      connections.serves(Number(version?.is));
      const effective = async (sql: postgres.Sql): Promise<unknown> => {
        const rows = await sql`
          SELECT name, setting FROM pg_settings WHERE name = ANY(string_to_array(${names.join()}, ','))
          ORDER BY name`;
        return rows.map(({ name, setting }) => `${name}=${setting}`);
      };
      const expected = (statement: number, lock: number): readonly string[] => [
        "idle_in_transaction_session_timeout=120000",
        "idle_session_timeout=0",
        `lock_timeout=${lock}`,
        `statement_timeout=${statement}`,
        ...(names.includes("transaction_timeout") ? ["transaction_timeout=0"] : []),
      ];
      const dedicated = connections.dedicated({ patient: true });
      try {
        expect(await effective(dedicated)).toEqual(expected(0, 0));
        expect(await connections.run("read", effective)).toEqual(expected(8_000, 7_000));
      } finally {
        await dedicated.end();
        await connections.close();
      }
    });
  });
});
