import postgres, { type Sql } from "postgres";
import { StorageError } from "../../errors.ts";
import { ConnectionSlots } from "./connection-slots.ts";
import { isConnectionRefused, toStorageError } from "./server-error.ts";

/** How the engine and the blobs reach a server. */
export interface ConnectionOptions {
  /**
   * URL of the database, `postgres://user:password@host:port/database?sslmode=verify-full`; several
   * hosts of one cluster are tried for the primary. It has to lead to sessions of their own, not to
   * a proxy that pools transactions.
   */
  readonly url: string;
  /** Trusted authorities, client certificate and the like, as `tls.connect` takes them. */
  readonly tls?: object;
  /** Schema that holds the tables, made by the first open. @default "stackwright" */
  readonly schema?: string;
  /**
   * Most connections for calls; where the server gives fewer, calls share those. Others are used: one for hints, one for each open
   * snapshot, one for each list between its pages, up to 16, and one for each watch that is delivering a snapshot of several pages, up to 16.
   *
   * @default 8
   */
  readonly connections?: number;
  /**
   * How long a call may take. The server gives statements up a little earlier.
   *
   * @default 10,000
   */
  readonly timeoutMs?: number;
}

/** {@link ConnectionOptions} with the defaults filled in. */
type ResolvedConnectionOptions = Required<Omit<ConnectionOptions, "tls">> &
  Pick<ConnectionOptions, "tls">;

/** Fills in the defaults; `STORAGE_INVALID_ARGUMENT` for what cannot work. */
export function resolveConnectionOptions(options: ConnectionOptions): ResolvedConnectionOptions {
  const { url, tls, schema = "stackwright", connections = 8, timeoutMs = 10_000 } = options;
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new StorageError("STORAGE_INVALID_ARGUMENT", `"${schema}" cannot name a schema`, {
      details: { field: "schema" },
    });
  }
  return { url, schema, connections, timeoutMs, ...(tls === undefined ? {} : { tls }) };
}

/** No time limit of a session. A text, as the library leaves out what is not true. */
const NONE = "0";

/** What a call does, for telling what a failure left behind. */
export type CallKind = "read" | "write";

// Three things that postgres.js leaves to its user.
//
// Deadlines: on a connection whose other end is silent a query waits until the system gives the
// socket up. Each call has a timer here, and when it runs out the pool is replaced.
//
// Broken connections: the library connects again with the state of the connection that broke, and
// the rows that a result had by then are counted into the next one. So no connection is used again
// after one has failed under a call: the pool is replaced before anything else is sent, and what is
// under way on its other connections may finish there.
//
// Pipelining: a call never shares a connection with another one, so it fails for its own reasons
// only. Calls beyond the number of connections wait for a slot, in order and within their deadline.
//
// A call for which the server refuses a further connection has sent nothing, and the other connections are as they were. So it
// waits for one of these, and fails only when the instance has none.

/** Connections that are replaced together. */
interface Pool {
  readonly sql: Sql;
  /** What is in progress on them. */
  readonly calls: Set<Promise<unknown>>;
}

/** The connections of an instance. */
export class Connections {
  readonly options: ResolvedConnectionOptions;
  #pool: Pool;
  readonly #slots: ConnectionSlots;
  /** Pools that were replaced and have calls in progress. */
  readonly #ending = new Set<Promise<void>>();
  #closed = false;
  /** Settings of a session that only some versions of the server know. */
  #known: Readonly<Record<string, string>> = {};

  constructor(options: ResolvedConnectionOptions) {
    this.options = options;
    this.#slots = new ConnectionSlots(options.connections);
    this.#pool = this.#newPool();
  }

  /**
   * Runs a call with its deadline and gives its failure as a `StorageError`. When the call's signal
   * aborts, that is for the caller to see to.
   */
  async run<T>(
    kind: CallKind,
    call: (sql: Sql) => PromiseLike<T>,
    timeoutMs = this.options.timeoutMs,
  ): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    if (!(await this.#slots.acquire(timeoutMs))) throw tooLate(kind, "not-applied", timeoutMs);
    for (;;) {
      const pool = this.#pool;
      const { released } = this.#slots;
      try {
        const leftMs = deadline - performance.now();
        const answer = withDeadline(kind, timeoutMs, leftMs, call(pool.sql));
        pool.calls.add(answer);
        const result = await answer.finally(() => pool.calls.delete(answer));
        this.#slots.release();
        return result;
      } catch (error) {
        if (isConnectionRefused(error)) {
          const leftMs = deadline - performance.now();
          if (await this.#slots.exchange(released, leftMs)) continue;
          throw toStorageError(error, kind);
        }
        const answered = error instanceof postgres.PostgresError && error.severity === "ERROR";
        if (!answered) this.#replace(pool);
        this.#slots.release();
        throw toStorageError(error, kind);
      }
    }
  }

  /**
   * Says which version the server has, as the server gives it, before the first call: some settings of a session are not known to
   * all versions, and a server refuses a session that names one.
   */
  serves(version: number): void {
    this.#known = version >= 170_000 ? { transaction_timeout: NONE } : {};
    this.#replace(this.#pool);
  }

  /** A client with one connection of its own, which the caller ends. */
  dedicated(options: DedicatedOptions = {}): Sql {
    return this.#connect(1, options);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#end(this.#pool);
    await Promise.all(this.#ending);
  }

  #newPool(): Pool {
    return { sql: this.#connect(this.options.connections), calls: new Set() };
  }

  #replace(pool: Pool): void {
    if (this.#closed || this.#pool !== pool) return;
    this.#pool = this.#newPool();
    this.#end(pool);
  }

  #end(pool: Pool): void {
    const ending = finish(pool).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  /** How long sessions may take; what is set for a role, a database or the server would end them otherwise. */
  #limits(isPatient: boolean): Readonly<Record<string, string | number>> {
    const { timeoutMs } = this.options;
    return {
      statement_timeout: isPatient ? NONE : Math.ceil(timeoutMs * 0.8),
      // Earlier than a statement: what had no turn has not begun, so its outcome is known.
      lock_timeout: isPatient ? NONE : Math.ceil(timeoutMs * 0.7),
      idle_in_transaction_session_timeout: 120_000,
      // A session that listens is idle for as long as nothing happens.
      idle_session_timeout: NONE,
      ...this.#known,
    };
  }

  #connect(max: number, dedicated: DedicatedOptions = {}): Sql {
    const { url, tls, schema, timeoutMs } = this.options;
    const options = {
      max,
      ...(tls === undefined ? {} : { ssl: tls }),
      connect_timeout: Math.max(1, Math.ceil(timeoutMs / 2000)),
      keep_alive: 15,
      backoff: (retries: number) => Math.min(0.02 * 2 ** retries, 1) * (0.5 + Math.random() / 2),
      // Only the types of PostgreSQL itself are used.
      fetch_types: false,
      target_session_attrs: "read-write" as const,
      onnotice: () => undefined,
      connection: {
        application_name: "stackwright-storage",
        search_path: schema,
        ...this.#limits(dedicated.patient === true),
        default_transaction_isolation: "read committed" as const,
        client_min_messages: "warning",
      },
      ...(dedicated.onClose === undefined ? {} : { onclose: dedicated.onClose }),
      // Not in the types: how the library's own listen() receives notifications.
      ...(dedicated.onNotify === undefined
        ? {}
        : { onnotify: dedicated.onNotify, max_lifetime: null }),
    };
    return postgres(url, options);
  }
}

/**
 * Lets what is in progress end, up to the deadline that it has anyway. The end of the pool itself is no measure of that: it never
 * comes for a connection that broke under a call.
 */
async function finish({ sql, calls }: Pool): Promise<void> {
  await Promise.allSettled(calls);
  await sql.end({ timeout: 1 }).catch(() => undefined);
}

/** Gives up an answer that does not come in the time that is left of a call's. */
export async function withDeadline<T>(
  kind: CallKind,
  timeoutMs: number,
  leftMs: number,
  answer: PromiseLike<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate(kind, "unknown", timeoutMs)), Math.max(1, leftMs));
  });
  try {
    return await Promise.race([answer, expired]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(
  kind: CallKind,
  outcome: "unknown" | "not-applied",
  timeoutMs: number,
): StorageError {
  return new StorageError("STORAGE_INCONSISTENT", `no answer within ${timeoutMs} ms`, {
    details: kind === "write" ? { outcome } : {},
  });
}

/** What makes a dedicated connection differ from those of the pool. */
interface DedicatedOptions {
  /** Lets statements take their time: migrations, restores. */
  readonly patient?: boolean;
  readonly onClose?: () => void;
  readonly onNotify?: (channel: string, payload: string) => void;
}
