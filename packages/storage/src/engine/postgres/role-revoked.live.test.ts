import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { expect, test, vi } from "vitest";
import { assertCode, assertSame, nextUpsert } from "../../testing/assertions.ts";
import { postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage } from "../postgres.ts";

const [server] = postgresServers();

test.skipIf(server === undefined)(
  "a role that may not log in any more is refused, and works without a restart once it may again",
  { timeout: 60_000 },
  async () => {
    const admin = postgres(server?.url ?? "", { max: 1, onnotice: () => undefined });
    const role = `role_${randomUUID().replaceAll("-", "_")}`;
    const password = "for this test";
    await admin.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
    try {
      const [database] = await admin`SELECT current_database() AS name`;
      await admin.unsafe(`GRANT CREATE ON DATABASE "${String(database?.name)}" TO ${role}`);
      const url = new URL(server?.url ?? "");
      url.username = role;
      url.password = encodeURIComponent(password);
      await using storage = await createPostgresStorage({ url: url.href, schema: role });
      let stored = await storage.writeCAS(sample(A1, HOME, "web"));
      using watch = await storage.watchList(A1, HOME, "");
      assertSame(await nextUpsert(watch), stored);

      await admin.unsafe(`ALTER ROLE ${role} NOLOGIN`);
      await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ${role}`;
      // The first calls may find their connections closed, before anything is asked for a new one.
      const seen = stored;
      await vi.waitFor(
        () => assertCode(storage.read("strong", seen.id), "STORAGE_PERMISSION_DENIED"),
        { timeout: 30_000 },
      );
      const refused = await assertCode(storage.writeCAS(seen), "STORAGE_PERMISSION_DENIED");
      expect(refused.message).toContain("not permitted to log in");

      await admin.unsafe(`ALTER ROLE ${role} LOGIN`);
      await vi.waitFor(async () => assertSame(await storage.read("strong", seen.id), seen), {
        timeout: 30_000,
      });
      stored = await storage.writeCAS(seen);
      assertSame(await nextUpsert(watch), stored);
    } finally {
      await admin.unsafe(`DROP OWNED BY ${role} CASCADE`);
      await admin.unsafe(`DROP ROLE ${role}`);
      await admin.end();
    }
  },
);
