import type { Sql } from "postgres";
import { StorageError } from "../../errors.ts";
import { type Connections, withDeadline } from "./connections.ts";
import { toStorageError } from "./server-error.ts";

/**
 * A view of the database at one point in time, on a connection of its own. Each call has a deadline;
 * the transaction may last as long as calls come. When its connection breaks it is over: the library
 * would go on with another connection, outside of the transaction.
 */
export class ReadTransaction implements AsyncDisposable {
  readonly #client: Sql;
  readonly #timeoutMs: number;
  #isBroken = false;

  private constructor(connections: Connections) {
    this.#client = connections.dedicated({
      onClose: () => {
        this.#isBroken = true;
      },
    });
    this.#timeoutMs = connections.options.timeoutMs;
  }

  /** Opens one; the first statement fixes the point in time. */
  static async open(connections: Connections): Promise<ReadTransaction> {
    const opened = new ReadTransaction(connections);
    try {
      await opened.run((sql) => sql.unsafe("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
      return opened;
    } catch (error) {
      await opened[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Whether its point in time is lost. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  async run<T>(call: (sql: Sql) => PromiseLike<T>): Promise<T> {
    if (this.#isBroken) {
      throw new StorageError("STORAGE_INCONSISTENT", "the connection of the list broke");
    }
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
