import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { expect, it, onTestFinished, vi } from "vitest";
import { openBackend } from "./open-backend.ts";
import type { LockRecord, StateBackend } from "./state-backend.ts";

const URL_OF_SERVER = process.env["TEST_POSTGRES_URL"] ?? "";
const SKIP = "no PostgreSQL server: TEST_POSTGRES_URL is not set";

function record(ID: string): LockRecord {
  const Created = "2026-01-01T00:00:00Z";
  return { ID, Operation: "adopt", Info: "", Who: "ann", Version: "1", Created, Path: "" };
}

/** A schema with one state, as the reference command makes it. */
async function stateTable() {
  const schema = `tf_${randomUUID().slice(0, 8)}`;
  const sql = postgres(URL_OF_SERVER, { max: 1, onnotice: () => undefined });
  onTestFinished(async () => {
    await sql`DROP SCHEMA IF EXISTS ${sql(schema)} CASCADE`;
    await sql.end();
  });
  await sql`CREATE SCHEMA ${sql(schema)}`;
  await sql`CREATE TABLE ${sql(schema)}.states (id bigserial PRIMARY KEY, name text UNIQUE, data text)`;
  await sql`INSERT INTO ${sql(schema)}.states (name, data) VALUES ('default', 'the state')`;
  const address = new URL(URL_OF_SERVER);
  address.searchParams.set("sslmode", "disable");
  const values = { conn_str: address.href, schema_name: schema };
  const open = async (): Promise<StateBackend> =>
    openBackend({ type: "pg", values }, { directory: "/", env: {} });
  return { sql, open };
}

it("keeps the session of a lock for as long as the lock is held", async (context) => {
  context.skip(URL_OF_SERVER === "", SKIP);
  // The client reads its defaults there: connections of a second.
  vi.stubEnv("PGMAX_LIFETIME", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { open } = await stateTable();
  await using one = await open();
  await using two = await open();
  const held = await one.lock("default", record("one"));
  await delay(2_000);
  await expect(two.lock("default", record("two"))).rejects.toMatchObject({
    code: "TFSTATE_BACKEND_LOCKED",
  });
  await one.write("default", Buffer.from("written"));
  await held.release();
  await (await two.lock("default", record("two"))).release();
});

it("writes nothing after the connection with the lock was lost", async (context) => {
  context.skip(URL_OF_SERVER === "", SKIP);
  const { sql, open } = await stateTable();
  await using one = await open();
  const held = await one.lock("default", record("one"));
  await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'stackwright adopt'`;
  await delay(200);
  await using two = await open();
  const other = await two.lock("default", record("two"));
  await expect(one.write("default", Buffer.from("written"))).rejects.toThrow(
    "the connection with the lock was lost",
  );
  expect(Buffer.from((await two.read("default")) ?? []).toString()).toBe("the state");
  await other.release();
  await held.release();
});
