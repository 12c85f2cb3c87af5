import type { DatabaseSync } from "node:sqlite";
import { bytesOrNull, type GroupWriter } from "./group-writer.ts";
import type { StagedRow } from "./protocol.ts";

/**
 * Restores under way: their rows wait in temporary tables, which SQLite keeps in files of its own
 * that vanish with the connection, until a commit swaps them in.
 */
export class Restores {
  readonly #database: DatabaseSync;
  readonly #writer: GroupWriter;
  readonly #staged = new Set<number>();

  constructor(database: DatabaseSync, writer: GroupWriter) {
    this.#database = database;
    this.#writer = writer;
  }

  /** Adds rows; of two with one key the later counts. */
  stage(restore: number, rows: readonly StagedRow[]): void {
    this.#ensureTable(restore);
    const insert = this.#database.prepare(
      `INSERT OR REPLACE INTO ${tableOf(restore)} (key, uid, version, owner, body, checksum) ` +
        "VALUES (?, ?, ?, ?, ?, ?)",
    );
    this.#database.exec("BEGIN");
    try {
      for (const [key, uid, version, owner, body, checksum] of rows) {
        insert.run(Buffer.from(key), uid, version, bytesOrNull(owner), body, checksum);
      }
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Swaps the rows in and gives the new epoch. */
  commit(restore: number): string {
    this.#ensureTable(restore);
    const epoch = this.#writer.replaceAll(tableOf(restore));
    this.abort(restore);
    return epoch;
  }

  /** Forgets the rows. */
  abort(restore: number): void {
    if (!this.#staged.delete(restore)) return;
    this.#database.exec(`DROP TABLE ${tableOf(restore)}`);
  }

  #ensureTable(restore: number): void {
    if (this.#staged.has(restore)) return;
    this.#database.exec(`
      CREATE TABLE ${tableOf(restore)} (
        key BLOB NOT NULL UNIQUE,
        uid TEXT NOT NULL,
        version TEXT NOT NULL,
        owner BLOB,
        body BLOB NOT NULL,
        checksum INTEGER NOT NULL
      ) STRICT
    `);
    this.#staged.add(restore);
  }
}

function tableOf(restore: number): string {
  return `temp.restore_${restore}`;
}
