import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { onTestFinished } from "vitest";

/** A name for the schema of one test, which is dropped behind it, and the address for the backend. */
export function postgresSchema(url: string): {
  readonly conn_str: string;
  readonly schema_name: string;
} {
  const schema = `adopt_${randomUUID().slice(0, 8)}`;
  onTestFinished(async () => {
    const sql = postgres(url, { max: 1, onnotice: () => undefined });
    await sql`DROP SCHEMA IF EXISTS ${sql(schema)} CASCADE`;
    await sql.end();
  });
  const address = new URL(url);
  address.searchParams.set("sslmode", "disable");
  return { conn_str: address.href, schema_name: schema };
}
