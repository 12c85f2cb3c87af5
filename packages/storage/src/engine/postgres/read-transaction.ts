import type { Sql } from "postgres";
import { type Connections, withDeadline } from "./connections.ts";
import { toStorageError } from "./server-error.ts";

/**
 * A view of the database at one point in time, on a connection of its own. Each call has a deadline;
 * the transaction may last as long as calls come.
 */
export class ReadTransaction implements AsyncDisposable {
  readonly #client: Sql;
  readonly #timeoutMs: number;

  private constructor(client: Sql, timeoutMs: number) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
  }

  /** Opens one; the first statement fixes the point in time. */
  static async open(connections: Connections): Promise<ReadTransaction> {
    const { timeoutMs } = connections.options;
    const opened = new ReadTransaction(connections.dedicated(), timeoutMs);
    try {
      await opened.run((sql) => sql.unsafe("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
      return opened;
    } catch (error) {
      await opened[Symbol.asyncDispose]();
      throw error;
    }
  }

  async run<T>(call: (sql: Sql) => PromiseLike<T>): Promise<T> {
    try {
      return await withDeadline("read", this.#timeoutMs, this.#timeoutMs, call(this.#client));
    } catch (error) {
      throw toStorageError(error, "read");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end({ timeout: 0 }).catch(() => undefined);
  }
}
