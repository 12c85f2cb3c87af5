import type { DatabaseSync } from "node:sqlite";

/** Connections kept for the next view. */
const IDLE_READERS = 4;

/** Connections for views of the store at one point in time. */
export class Readers {
  readonly #idle: DatabaseSync[] = [];
  readonly #connect: () => DatabaseSync;

  constructor(connect: () => DatabaseSync) {
    this.#connect = connect;
  }

  /** A connection in a read transaction; its first statement fixes the point in time. */
  begin(): DatabaseSync {
    const reader = this.#idle.pop() ?? this.#connect();
    try {
      reader.exec("BEGIN");
      return reader;
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  /** Ends the transaction of a connection, with no statement of it under way. */
  end(reader: DatabaseSync): void {
    try {
      reader.exec("COMMIT");
    } catch {
      // Whatever is wrong with it, a new connection will say.
      reader.close();
      return;
    }
    if (this.#idle.length < IDLE_READERS) this.#idle.push(reader);
    else reader.close();
  }

  /** Closes the connections that are not in use. */
  close(): void {
    for (const reader of this.#idle) reader.close();
    this.#idle.length = 0;
  }
}
