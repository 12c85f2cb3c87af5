import { StorageError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Connections } from "./connections.ts";

/** How many events go at a time. */
const BATCH = 2_000;

/** Bounds of the history in the database. */
export interface HistoryBounds {
  readonly events: number;
  readonly bytes: number;
}

/**
 * Forgets history beyond its bounds, now and then while this instance writes. Several instances may
 * do so at once; the server lets one of them.
 */
export class HistoryKeeper {
  readonly #connections: Connections;
  readonly #bounds: HistoryBounds;
  readonly #logger: Logger | undefined;
  readonly #before: () => Promise<number>;
  readonly #every: number;
  #commits = 0;
  #running: Promise<void> | undefined;

  /** `before` brings the watches of this instance up to date, and gives how far that is. */
  constructor(
    connections: Connections,
    bounds: HistoryBounds,
    logger: Logger | undefined,
    before: () => Promise<number>,
  ) {
    this.#connections = connections;
    this.#before = before;
    this.#bounds = bounds;
    this.#logger = logger;
    this.#every = Math.max(1, Math.min(1_000, Math.ceil(bounds.events / 4)));
  }

  /** Counts a transaction of this instance. */
  committed(): void {
    this.#commits += 1;
    if (this.#commits < this.#every || this.#running !== undefined) return;
    this.#commits = 0;
    this.#running = this.compact()
      .catch((error: unknown) => {
        const { message } = StorageError.from(error);
        this.#logger?.warn({ message }, "history could not be compacted");
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  async compact(): Promise<void> {
    const last = await this.#before();
    const { events, bytes } = this.#bounds;
    let deleted: number;
    do {
      const [row] = await this.#connections.run(
        "write",
        (sql) => sql`SELECT compact_history(${events}, ${bytes}, ${last}, ${BATCH}) AS deleted`,
      );
      deleted = Number(row?.deleted ?? 0);
    } while (deleted === BATCH);
  }

  async idle(): Promise<void> {
    await this.#running;
  }
}
