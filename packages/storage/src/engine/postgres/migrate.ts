import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import type { Sql } from "postgres";
import { StorageError } from "../../errors.ts";
import type { StoreLayout } from "../../store-layout.ts";
import type { Connections } from "./connections.ts";
import { lackedRights } from "./lacked-rights.ts";
import { noSessions, serverErrorOf, toStorageError } from "./server-error.ts";

/** Made by drizzle-kit; as far from the compiled file as from this one. */
const MIGRATIONS = fileURLToPath(new URL("../../../drizzle", import.meta.url));
const TABLE = "migration";

/** Held while migrations run, so that of several processes that start one does it. */
const MIGRATION_LOCK = 1_398_232_950;

/**
 * How long a migration waits for a table that others use before it lets them go on and tries again: what waits for a table keeps
 * all from it that come later, readers too.
 */
const LOCK_WAIT_MS = 2_000;
const RETRY_MS = 500;

/** How often the time of a call is spent on that. */
const PATIENCE = 6;

/** What the server says where a lock was not given in time. */
const LOCK_NOT_AVAILABLE = "55P03";

/** What the server says where a role has no right to do something. */
const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * Checks that the server can keep the engine's promises and brings the tables to the newest layout;
 * with `migrations` false it only checks that they are there.
 *
 * `STORAGE_SCHEMA`: a server before 15, an encoding other than UTF-8, or tables of a newer release.
 * `STORAGE_INVALID_ARGUMENT`: `synchronous_commit` is off, so acknowledged writes could vanish; or a proxy is in between that
 * does not keep the settings of a session. `STORAGE_LOCKED`: others use the tables that a new layout changes.
 * `STORAGE_PERMISSION_DENIED`: the role lacks a right, which the message names.
 */
export async function prepareDatabase(
  connections: Connections,
  migrations: boolean,
): Promise<{ readonly fsync: boolean }> {
  const client = connections.dedicated({ patient: true });
  try {
    const { version, ...settings } = await checkServer(client, connections.options.schema);
    connections.serves(version);
    // Of 17 and newer; this session may have begun with that of its role.
    await client`
      SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'`;
    await updateLayout(client, connections.options, migrations);
    return settings;
  } catch (error) {
    const answer = serverErrorOf(error);
    if (answer?.code !== INSUFFICIENT_PRIVILEGE) throw toStorageError(error, "read");
    throw await lackedRights(client, connections.options.schema, answer);
  } finally {
    await client.end({ timeout: 1 }).catch(() => undefined);
  }
}

async function checkServer(
  client: Sql,
  schema: string,
): Promise<{ readonly fsync: boolean; readonly version: number }> {
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
  return { fsync: row?.fsync !== "off", version: Number(row.version) };
}

/**
 * The layout of the tables, of which there may be none yet. Changes nothing. Rejects as {@link prepareDatabase} does; `STORAGE_SCHEMA` where
 * a newer release made the tables.
 */
export async function readLayout(connections: Connections): Promise<StoreLayout> {
  const client = connections.dedicated({ patient: true });
  try {
    await checkServer(client, connections.options.schema);
    const steps = migrationSteps();
    const applied = await appliedStep(client, steps.at(-1) ?? 0);
    return { stored: steps.filter((step) => step <= applied).length, newest: steps.length };
  } catch (error) {
    throw toStorageError(error, "read");
  } finally {
    await client.end({ timeout: 1 }).catch(() => undefined);
  }
}

/** When the steps of the layout were made, the oldest first: what the table of applied ones names them by. */
function migrationSteps(): readonly number[] {
  return readMigrationFiles({ migrationsFolder: MIGRATIONS }).map(
    ({ folderMillis }) => folderMillis,
  );
}

async function updateLayout(
  client: Sql,
  { schema, timeoutMs }: Pick<Connections["options"], "schema" | "timeoutMs">,
  migrations: boolean,
): Promise<void> {
  const newest = migrationSteps().at(-1) ?? 0;
  if ((await appliedStep(client, newest)) === newest) return;
  if (!migrations) {
    throw new StorageError("STORAGE_SCHEMA", `the tables in schema "${schema}" are not up to date`);
  }
  await client`SELECT pg_advisory_lock(${MIGRATION_LOCK})`;
  // Ends with the session, also after a failure.
  const waitMs = Math.min(LOCK_WAIT_MS, timeoutMs);
  await client`SELECT set_config('lock_timeout', ${String(waitMs)}, false)`;
  const deadline = performance.now() + PATIENCE * timeoutMs;
  for (;;) {
    try {
      await migrate(drizzle(client), {
        migrationsFolder: MIGRATIONS,
        migrationsSchema: schema,
        migrationsTable: TABLE,
      });
      return;
    } catch (error) {
      if (serverErrorOf(error)?.code !== LOCK_NOT_AVAILABLE) throw error;
      if (performance.now() > deadline) throw await tablesInUse(client, schema, error);
    }
    await delay(RETRY_MS);
  }
}

/** The refusal of a new layout while others use the tables; it names who they are. */
async function tablesInUse(client: Sql, schema: string, cause: unknown): Promise<StorageError> {
  const sessions = await client`
    SELECT a.pid, a.application_name AS name, a.state, extract(epoch FROM now() - a.xact_start)::int AS seconds
    FROM pg_stat_activity a
    WHERE a.pid <> pg_backend_pid() AND a.pid IN (
      SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
      WHERE c.relnamespace = ${schema}::regnamespace
    ) ORDER BY a.xact_start LIMIT 5`;
  const shown = sessions.map(
    ({ pid, name, state, seconds }) => `${pid} (${name}, ${state}, for ${seconds} s)`,
  );
  return new StorageError(
    "STORAGE_LOCKED",
    `the tables in schema "${schema}" are in use, so their layout cannot be changed; end the session that uses them, or ` +
      `start again later: ${shown.length === 0 ? "it has just ended" : `session ${shown.join(", ")}`}`,
    { cause },
  );
}

/** The step that was applied last, 0 where there are no tables; the right to create things is not needed to look. */
async function appliedStep(client: Sql, newest: number): Promise<number> {
  const [table] = await client`SELECT to_regclass(${TABLE}) AS found`;
  if (table?.found === null) return 0;
  const [row] = await client`SELECT max(created_at)::text AS applied FROM ${client(TABLE)}`;
  const applied = Number(row?.applied ?? 0);
  if (applied > newest) {
    throw new StorageError("STORAGE_SCHEMA", "the tables belong to a newer release");
  }
  return applied;
}
