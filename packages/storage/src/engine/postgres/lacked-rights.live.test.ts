import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { createPostgresBlobs } from "../../blob/postgres-blobs.ts";
import { assertCode } from "../../testing/assertions.ts";
import { postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage } from "../postgres.ts";

const [server] = postgresServers();

describe.skipIf(server === undefined)("a role without a right", { timeout: 60_000 }, () => {
  let admin: postgres.Sql;
  let roles: string[];
  let database: string;

  beforeEach(async () => {
    admin = postgres(server?.url ?? "", { max: 1, onnotice: () => undefined });
    roles = [];
    const [row] = await admin`SELECT quote_ident(current_database()) AS name`;
    database = String(row?.name);
    return async () => {
      for (const role of roles) {
        await admin.unsafe(`DROP OWNED BY ${role} CASCADE`);
        await admin.unsafe(`DROP ROLE ${role}`);
      }
      await admin.end();
    };
  });

  /** A role that may log in, and the URL with which it does. */
  async function makeRole(): Promise<{ readonly role: string; readonly url: string }> {
    const role = `role_${randomUUID().replaceAll("-", "_")}`;
    await admin.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'for this test'`);
    roles.push(role);
    const url = new URL(server?.url ?? "");
    url.username = role;
    url.password = encodeURIComponent("for this test");
    return { role, url: url.href };
  }

  /** The statement that a refused store asks for; it has to be enough, or lead to the next one. */
  async function grantUntilOpen(url: string, schema: string): Promise<readonly string[]> {
    const granted: string[] = [];
    for (;;) {
      try {
        await using storage = await createPostgresStorage({ url, schema });
        await storage.writeCAS(sample(A1, HOME, `web${granted.length}`));
        return granted;
      } catch (error) {
        expect(error).toMatchObject({ code: "STORAGE_PERMISSION_DENIED", retryable: false });
        const [, grant = ""] = /let an administrator run: (GRANT .*)$/.exec(String(error)) ?? [];
        expect(granted, String(error)).not.toContain(grant);
        granted.push(grant);
        await admin.unsafe(grant);
      }
    }
  }

  test("to make a schema gets an error that names the missing grant, and opens the store with it", async () => {
    const { role, url } = await makeRole();
    expect(await grantUntilOpen(url, role)).toEqual([
      `GRANT CREATE ON DATABASE ${database} TO ${role}`,
    ]);
  });

  test("to use a schema of others gets an error that names the missing grants, blobs too", async () => {
    const { role, url } = await makeRole();
    await admin.unsafe(`CREATE SCHEMA ${role}_made`);
    try {
      const blobs = createPostgresBlobs({ url, schema: `${role}_made` });
      const { message } = await assertCode(blobs, "STORAGE_PERMISSION_DENIED");
      expect(message).toContain("GRANT CREATE ON DATABASE");
      expect(await grantUntilOpen(url, `${role}_made`)).toEqual([
        `GRANT CREATE ON DATABASE ${database} TO ${role}`,
        `GRANT USAGE, CREATE ON SCHEMA ${role}_made TO ${role}`,
      ]);
    } finally {
      await admin.unsafe(`DROP SCHEMA ${role}_made CASCADE`);
    }
  });

  test("that is missing behind the commit of a write leaves open what became of it", async () => {
    const { role, url } = await makeRole();
    await admin.unsafe(`GRANT CREATE ON DATABASE ${database} TO ${role}`);
    await using storage = await createPostgresStorage({ url, schema: role });
    const stored = await storage.writeCAS(sample(A1, HOME, "web"));
    const sequence = `SEQUENCE ${role}.durable_revision`;
    await admin.unsafe(`REVOKE ALL ON ${sequence} FROM ${role}`);
    const { message, details } = await assertCode(storage.writeCAS(stored), "STORAGE_INCONSISTENT");
    expect(message).toContain("permission denied for sequence durable_revision");
    expect(details).toEqual({ outcome: "unknown" });
    await admin.unsafe(`GRANT ALL ON ${sequence} TO ${role}`);
    // It was written, and would be another time by who takes it for refused.
    await assertCode(storage.writeCAS(stored), "STORAGE_CAS_FAILURE");
  });

  test("to change the tables of another role gets an error that says to become a member of it", async () => {
    const [first, second] = [await makeRole(), await makeRole()];
    for (const { role } of [first, second]) {
      await admin.unsafe(`GRANT CREATE ON DATABASE ${database} TO ${role}`);
    }
    await grantUntilOpen(first.url, first.role);
    // The store of a release before the last one.
    await admin.unsafe(
      `DELETE FROM ${first.role}.migration WHERE id = (SELECT max(id) FROM ${first.role}.migration)`,
    );
    expect(await grantUntilOpen(second.url, first.role)).toEqual([
      `GRANT ${first.role} TO ${second.role}`,
    ]);
  });
});
