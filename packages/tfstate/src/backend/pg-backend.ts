import postgres from "postgres";
import { TfstateError } from "../errors.ts";
import type { BackendArguments } from "./backend-arguments.ts";
import { CALL_DEADLINE_MS, withDeadline } from "./deadline.ts";
import { lockedError } from "./lock-record.ts";
import { serverIdentity } from "./server-identity.ts";
import {
  type BackendCall,
  type HeldLock,
  type StateBackend,
  sortedWorkspaces,
} from "./state-backend.ts";
import { MAX_STATE_BYTES, stateTooLarge } from "./state-bytes.ts";

interface StateRow {
  readonly id: string;
  readonly data: string | null;
  readonly isTooLarge: boolean | null;
}

interface PgBackendOptions {
  /** Of the largest state that is read. @default 512 MiB */
  readonly maxBytes?: number | undefined;
  /** For each call, in milliseconds. @default 5 minutes */
  readonly deadlineMs?: number;
}

/** Rows of a table in PostgreSQL. Its locks are advisory ones of a session: they end with the process. */
export function pgBackend(
  configuration: BackendArguments,
  env: NodeJS.ProcessEnv,
  { deadlineMs = CALL_DEADLINE_MS, maxBytes = MAX_STATE_BYTES }: PgBackendOptions = {},
): StateBackend {
  const address = configuration.text("conn_str", "PG_CONN_STR") ?? "postgres://";
  const schema = configuration.text("schema_name", "PG_SCHEMA_NAME") ?? "terraform_remote_state";
  const shown = `schema ${schema} of ${serverOf(address, env)}`;
  // One connection: an advisory lock belongs to its session.
  const sql = connect(address, env);

  let ended = false;
  const locks = new Set<string>();
  // The server process of the session that has them.
  let holder: number | undefined;

  const guarded = async <T>(
    what: string,
    { signal }: BackendCall,
    task: () => Promise<T>,
  ): Promise<T> => {
    try {
      return await withDeadline(`${shown}: ${what}`, { signal, ms: deadlineMs }, async (until) => {
        // A query that was given up might be executed later: its session ends, and the lock with it.
        const onAbort = (): void => {
          ended = true;
          void sql.end({ timeout: 0 });
        };
        until.addEventListener("abort", onAbort, { once: true });
        return task();
      });
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TfstateError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new TfstateError(
        "TFSTATE_BACKEND_UNAVAILABLE",
        `${shown}: ${what} failed: ${message}`,
        { cause: error },
      );
    }
  };
  /** Writes in the session that has the lock, where one was acquired: another session has lost it. */
  const change = async (task: (transaction: postgres.TransactionSql) => Promise<void>) =>
    sql.begin(async (transaction) => {
      const [row] = await transaction<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
      if (locks.size > 0 && row?.pid !== holder) {
        throw new TfstateError(
          "TFSTATE_BACKEND_UNAVAILABLE",
          `${shown}: the connection with the lock was lost: nothing was written`,
        );
      }
      await task(transaction);
    });
  const table = sql`${sql(schema)}.states`;
  const rowOf = async (workspace: string): Promise<StateRow | undefined> => {
    if (!(await hasTable())) return undefined;
    const [row] = await sql<StateRow[]>`
      SELECT id::text, octet_length(data) > ${maxBytes} AS "isTooLarge",
        CASE WHEN octet_length(data) <= ${maxBytes} THEN data END AS data
      FROM ${table} WHERE name = ${workspace}`;
    return row;
  };
  const hasTable = async (): Promise<boolean> => {
    const [row] = await sql<{ found: boolean }[]>`
      SELECT to_regclass(${`${quoteName(schema)}.states`}) IS NOT NULL AS found`;
    return row?.found === true;
  };

  return {
    type: "pg",
    place: (workspace) => `${shown}, workspace ${workspace}`,
    identity: (workspace) => JSON.stringify([...databaseOf(address, env), schema, workspace]),
    workspaces: async (call = {}) =>
      guarded("listing the workspaces", call, async () => {
        if (!(await hasTable())) return sortedWorkspaces([]);
        const rows = await sql<{ name: string }[]>`SELECT name FROM ${table}`;
        return sortedWorkspaces(rows.map(({ name }) => name));
      }),
    read: async (workspace, call = {}) =>
      guarded("reading the state", call, async () => {
        const row = await rowOf(workspace);
        if (row?.isTooLarge === true) throw stateTooLarge(shown, maxBytes);
        const data = row?.data ?? "";
        return data === "" ? undefined : Buffer.from(data);
      }),
    write: async (workspace, bytes, call = {}) =>
      guarded("writing the state", call, async () => {
        const data = Buffer.from(bytes).toString("utf8");
        await change(async (transaction) => {
          await transaction`
            INSERT INTO ${table} (name, data) VALUES (${workspace}, ${data})
            ON CONFLICT (name) DO UPDATE SET data = ${data}`;
        });
      }),
    retire: async (workspace, suffix, marker) =>
      guarded("marking the state", {}, async () => {
        const kept = `${workspace}.${suffix}`;
        const data = Buffer.from(marker).toString("utf8");
        await change(async (transaction) => {
          await transaction`
            INSERT INTO ${table} (name, data) SELECT ${kept}, data FROM ${table} WHERE name = ${workspace}
            ON CONFLICT (name) DO NOTHING`;
          await transaction`UPDATE ${table} SET data = ${data} WHERE name = ${workspace}`;
        });
        return `workspace ${kept}`;
      }),
    lock: async (workspace, record, call = {}): Promise<HeldLock> =>
      guarded("locking the state", call, async () => {
        // The reference command locks the number -1 while it creates the row of a workspace.
        const id = (await rowOf(workspace))?.id ?? "-1";
        const [row] = await sql<{ held: boolean; pid: number }[]>`
          SELECT pg_try_advisory_lock(${id}) AS held, pg_backend_pid() AS pid`;
        if (row?.held !== true) throw lockedError(shown, undefined);
        locks.add(id);
        holder = row.pid;
        return {
          id: record.ID,
          outlivesProcess: false,
          release: async (options = {}) => {
            locks.delete(id);
            if (ended) return;
            await guarded("releasing the lock", options, async () => {
              await sql`SELECT pg_advisory_unlock(${id})`;
            });
          },
        };
      }),
    [Symbol.asyncDispose]: async () => sql.end({ timeout: 5 }),
  };
}

/** Connection texts are URLs, or `name=value` pairs of libpq. */
function connect(address: string, env: NodeJS.ProcessEnv): postgres.Sql {
  const parts = partsOf(address);
  const url = /^postgres(ql)?:\/\//.test(address) ? new URL(address) : undefined;
  const mode = url?.searchParams.get("sslmode") ?? parts.get("sslmode") ?? env["PGSSLMODE"];
  const host = parts.get("host") ?? (url?.hostname || env["PGHOST"] || "localhost");
  const user = parts.get("user") ?? decoded(url?.username) ?? env["PGUSER"] ?? env["USER"];
  const password = parts.get("password") ?? decoded(url?.password) ?? env["PGPASSWORD"];
  const database =
    parts.get("dbname") ?? decoded(url?.pathname.slice(1)) ?? env["PGDATABASE"] ?? user;
  return postgres({
    host,
    port: Number(parts.get("port") ?? (url?.port || env["PGPORT"] || 5432)),
    ...(user !== undefined && { username: user }),
    // The driver would take one of the process, which another environment than the given one may have.
    password: password ?? (() => ""),
    ...(database !== undefined && { database }),
    ssl: mode === "disable" ? false : tlsOf(mode ?? "prefer"),
    max: 1,
    idle_timeout: 0,
    // A new connection would be another session, without the lock.
    max_lifetime: 0,
    connect_timeout: 20,
    // The driver awaits its query for the types of arrays in no promise that a caller has: where the connection ends before
    // the answer, the rejection would end the process.
    fetch_types: false,
    onnotice: () => undefined,
    connection: { application_name: "stackwright adopt" },
  });
}

function tlsOf(mode: string): "allow" | "prefer" | "require" | "verify-full" {
  switch (mode) {
    case "allow":
    case "prefer":
    case "require":
      return mode;
    default:
      return "verify-full";
  }
}

function partsOf(address: string): ReadonlyMap<string, string> {
  if (/^postgres(ql)?:\/\//.test(address)) return new Map();
  const found = address.matchAll(/(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S*))/g);
  return new Map([...found].map(([, name = "", quoted, bare]) => [name, quoted ?? bare ?? ""]));
}

function decoded(text: string | undefined): string | undefined {
  return text === undefined || text === "" ? undefined : decodeURIComponent(text);
}

function serverOf(address: string, env: NodeJS.ProcessEnv): string {
  const fallback = env["PGHOST"] ?? "localhost";
  if (!/^postgres(ql)?:\/\//.test(address)) return partsOf(address).get("host") ?? fallback;
  const { host, pathname } = new URL(address);
  return `${host === "" ? fallback : host}${pathname === "/" ? "" : pathname}`;
}

/** Host, port and name of a database. */
function databaseOf(address: string, env: NodeJS.ProcessEnv): readonly string[] {
  const named = partsOf(address);
  const url = named.size === 0 ? URL.parse(address) : null;
  const pick = (inUrl: string | undefined, name: string, variable: string, otherwise: string) =>
    [inUrl, named.get(name), env[variable]].find((text) => text !== undefined && text !== "") ??
    otherwise;
  return [
    serverIdentity(pick(url?.hostname, "host", "PGHOST", "localhost")),
    pick(url?.port, "port", "PGPORT", "5432"),
    // Without a name it is the one of the user.
    pick(
      decoded(url?.pathname.slice(1)),
      "dbname",
      "PGDATABASE",
      pick(decoded(url?.username), "user", "PGUSER", env["USER"] ?? ""),
    ),
  ];
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
