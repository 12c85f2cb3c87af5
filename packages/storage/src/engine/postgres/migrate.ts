import { fileURLToPath } from "node:url";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import type { Sql } from "postgres";
import { StorageError } from "../../errors.ts";
import type { Connections } from "./connections.ts";
import { noSessions, toStorageError } from "./server-error.ts";

/** Made by drizzle-kit; as far from the compiled file as from this one. */
const MIGRATIONS = fileURLToPath(new URL("../../../drizzle", import.meta.url));
const TABLE = "migration";

/** Held while migrations run, so that of several processes that start one does it. */
const MIGRATION_LOCK = 1_398_232_950;

/**
 * Checks that the server can keep the engine's promises and brings the tables to the newest layout;
 * with `migrations` false it only checks that they are there.
 *
 * `STORAGE_SCHEMA`: a server before 15, an encoding other than UTF-8, or tables of a newer release.
 * `STORAGE_INVALID_ARGUMENT`: `synchronous_commit` is off, so acknowledged writes could vanish; or a proxy is in between that
 * does not keep the settings of a session.
 */
export async function prepareDatabase(
  connections: Connections,
  migrations: boolean,
): Promise<{ readonly fsync: boolean }> {
  const client = connections.dedicated({ patient: true });
  try {
    const settings = await checkServer(client, connections.options.schema);
    await updateLayout(client, connections.options.schema, migrations);
    return settings;
  } catch (error) {
    throw toStorageError(error, "read");
  } finally {
    await client.end({ timeout: 1 }).catch(() => undefined);
  }
}

async function checkServer(client: Sql, schema: string): Promise<{ readonly fsync: boolean }> {
  const [row] = await client`
    SELECT current_setting('server_version_num')::int AS version,
      current_setting('server_encoding') AS encoding,
      current_setting('synchronous_commit') AS commit,
      current_setting('fsync') AS fsync,
      current_setting('search_path') AS path,
      current_setting('idle_in_transaction_session_timeout') AS idle`;
  // As every connection has asked for: a proxy may have been told to drop it.
  if (row?.path !== schema || row.idle !== "2min") throw noSessions();
  if (Number(row?.version) < 150_000) {
    throw new StorageError("STORAGE_SCHEMA", "PostgreSQL 15 or newer is needed");
  }
  if (row?.encoding !== "UTF8") {
    throw new StorageError("STORAGE_SCHEMA", "the database has to be encoded in UTF-8");
  }
  if (row?.commit === "off") {
    throw new StorageError(
      "STORAGE_INVALID_ARGUMENT",
      "synchronous_commit is off: acknowledged writes could be lost",
    );
  }
  return { fsync: row?.fsync !== "off" };
}

async function updateLayout(client: Sql, schema: string, migrations: boolean): Promise<void> {
  const newest = readMigrationFiles({ migrationsFolder: MIGRATIONS }).at(-1)?.folderMillis ?? 0;
  if (await isCurrent(client, newest)) return;
  if (!migrations) {
    throw new StorageError("STORAGE_SCHEMA", `the tables in schema "${schema}" are not up to date`);
  }
  await client`SELECT pg_advisory_lock(${MIGRATION_LOCK})`;
  // Ends with the session, also after a failure.
  await migrate(drizzle(client), {
    migrationsFolder: MIGRATIONS,
    migrationsSchema: schema,
    migrationsTable: TABLE,
  });
}

/** Whether the newest migration was applied; the right to create things is not needed to look. */
async function isCurrent(client: Sql, newest: number): Promise<boolean> {
  const [table] = await client`SELECT to_regclass(${TABLE}) AS found`;
  if (table?.found === null) return false;
  const [row] = await client`SELECT max(created_at)::text AS applied FROM ${client(TABLE)}`;
  const applied = Number(row?.applied ?? 0);
  if (applied > newest) {
    throw new StorageError("STORAGE_SCHEMA", "the tables belong to a newer release");
  }
  return applied === newest;
}
