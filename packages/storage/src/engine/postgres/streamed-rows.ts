import { StorageError } from "../../errors.ts";
import type { Connections } from "./connections.ts";
import type { DurableReads } from "./durable-reads.ts";
import type { RowTarget } from "./reads.ts";
import { firstPage, rowPages } from "./row-pages.ts";
import type { KeyedRow } from "./rows.ts";

/** Targets that are read as their consumers come for the rows, each on a connection of its own. */
const MOST_STREAMS = 16;

/** How long a consumer may wait between pages: its transaction keeps the server from removing dead rows. */
const IDLE_MS = 60_000;

/** The rows of a target at one point in time, page by page. */
interface RowStream {
  readonly epoch: string;
  readonly revision: number;
  /** The next rows; `undefined` at the end, and then on. `STORAGE_INCONSISTENT` after a pause that was too long. */
  next(): Promise<readonly KeyedRow[] | undefined>;
  close(): void;
}

/**
 * Reads targets for consumers of any pace. Beside the rows of one page nothing is held in memory, while as many as
 * may be are open; what is opened beyond that is fetched at once, as a wait for the others could be one for the
 * caller itself.
 */
export class RowStreams {
  readonly #connections: Connections;
  readonly #reads: DurableReads;
  readonly #open = new Set<RowStream>();
  readonly #idleMs: number;

  constructor(connections: Connections, reads: DurableReads, idleMs: number = IDLE_MS) {
    this.#connections = connections;
    this.#reads = reads;
    this.#idleMs = idleMs;
  }

  /** The signal ends the opening; what was opened ends by `close`. */
  async open(target: RowTarget, signal: AbortSignal | undefined): Promise<RowStream> {
    const pages = rowPages(this.#connections, this.#reads, target);
    const first = await firstPage(pages);
    const { epoch, revision } = first;
    if (first.next === undefined || this.#open.size >= MOST_STREAMS) {
      const all = [first.rows];
      for await (const { rows } of pages) {
        signal?.throwIfAborted();
        all.push(rows);
      }
      all.reverse();
      return { epoch, revision, next: async () => all.pop(), close: () => void all.splice(0) };
    }
    let rows: readonly KeyedRow[] | undefined = first.rows;
    let timer: NodeJS.Timeout | undefined;
    let isIdle = false;
    const close = (): void => {
      clearTimeout(timer);
      this.#open.delete(stream);
      // Frees the connection once a page that is being read is there.
      pages.return(undefined).catch(() => undefined);
    };
    const wait = (): void => {
      timer = setTimeout(() => {
        isIdle = true;
        close();
      }, this.#idleMs).unref();
    };
    const stream: RowStream = {
      epoch,
      revision,
      next: async () => {
        clearTimeout(timer);
        if (isIdle) {
          const message = "the snapshot was not read on in time";
          throw new StorageError("STORAGE_INCONSISTENT", message);
        }
        const taken = rows ?? (await pages.next()).value?.rows;
        rows = undefined;
        if (taken === undefined) close();
        else wait();
        return taken;
      },
      close,
    };
    this.#open.add(stream);
    wait();
    return stream;
  }

  /** Ends all of them; their next page fails. */
  closeAll(): void {
    for (const stream of Array.from(this.#open)) stream.close();
  }
}
