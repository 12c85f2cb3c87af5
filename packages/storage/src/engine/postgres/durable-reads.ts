import { type SQL, sql } from "drizzle-orm";
import type { Sql } from "postgres";
import { StorageError } from "../../errors.ts";
import type { Connections } from "./connections.ts";

/** What a read has seen, of the same statement. */
export interface SeenRevision {
  /** The last commit of the store. */
  readonly revision: number;
  /** The last one that was known to be on disk. */
  readonly durable: number;
  /** Between two crashes of the server; `"0"` while no commit can be visible that is not on disk. */
  readonly life: string;
}

/** The columns of a {@link SeenRevision} beside the revision, for the select list of a query that has a snapshot. */
export const DURABILITY: SQL = sql.raw(`
  (SELECT last_value FROM durable_revision) AS durable, (SELECT last_value FROM server_life) AS life`);

/** The columns as they arrive. */
export interface DurabilityRow {
  readonly durable: string | null;
  readonly life: string | null;
}

// A commit is visible before it is on disk (`write_group`). A crash of the server takes such a commit back and gives its
// revision to another one, so nothing may be learned of it: writers wait by themselves, and what is read passes through
// here. Commits are on disk in the order of their revisions. So a read has seen nothing that can be lost once the revision of its
// snapshot is on disk in the same life of the server; mostly that is known when its statement ends.

/** Reads of an instance that give out only what is on disk. */
export class DurableReads {
  readonly #connections: Connections;
  #known = { durable: 0, life: "0" };
  #settling: Promise<void> | undefined;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** Runs a read on a connection of the pool. */
  async run<T extends SeenRevision>(read: (sql: Sql) => Promise<T>): Promise<T> {
    return this.settle(await this.#connections.run("read", read));
  }

  /** Gives what was read once it is on disk; `STORAGE_INCONSISTENT` when a crash may have taken it back. */
  async settle<T extends SeenRevision>(seen: T): Promise<T> {
    if (isDurable(seen, seen)) return seen;
    // What is under way may have begun before the commit that was seen, the next one has not.
    await this.#settling;
    if (isDurable(seen, this.#known)) return seen;
    this.#settling ??= this.#settleCommits().finally(() => {
      this.#settling = undefined;
    });
    await this.#settling;
    if (isDurable(seen, this.#known)) return seen;
    throw new StorageError("STORAGE_INCONSISTENT", "the database has crashed during the read");
  }

  async #settleCommits(): Promise<void> {
    const [row] = await this.#connections.run(
      "read",
      (sql) =>
        sql<{ p_revision: string; p_life: string | null }[]>`CALL settle_commits(NULL, NULL)`,
    );
    // A server that was just promoted may have no life yet, and then no commit of its own.
    if (row !== undefined) {
      this.#known = { durable: Number(row.p_revision), life: String(row.p_life) };
    }
  }
}

function isDurable(seen: SeenRevision, { durable, life }: Omit<SeenRevision, "revision">): boolean {
  return seen.life === "0" || (seen.life === life && seen.revision <= durable);
}
