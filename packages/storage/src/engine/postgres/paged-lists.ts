import { setTimeout as delay } from "node:timers/promises";
import { checkBody } from "../../checked-body.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import type { ResourceFilter } from "../../key.ts";
import {
  type Continuation,
  formatContinuation,
  type ListContent,
  listExpired,
  parseContinuation,
  queryDigest,
} from "../../list/continuation.ts";
import { OPEN_LIST_BOUNDS, OpenLists } from "../../list/open-lists.ts";
import { PageMeter, resolvePageBounds } from "../../list/page-bounds.ts";
import { type CutBody, cutBody, decodeHead } from "../../list/resource-head.ts";
import type { ListPageOptions, ResourceHead } from "../../list/types.ts";
import { readHead } from "./changes.ts";
import type { Connections } from "./connections.ts";
import type { DurableReads } from "./durable-reads.ts";
import { ReadTransaction } from "./read-transaction.ts";
import { type RowPage, type RowPageBounds, type RowTarget, readPage } from "./reads.ts";
import type { KeyedRow } from "./rows.ts";
import { isConnectionRefused } from "./server-error.ts";

/** Lists whose transaction, and so whose connection, is held between pages. */
const MOST_LISTS = 16;

/** How long a server may first take to free the connection of a list that was ended; then twice as long each time. */
const FREED_MS = 10;

/** How much of a body is fetched for its head: enough for most, and then enough for all. */
const HEAD_BYTES = 16 * 1024;
const LARGEST_HEAD_BYTES = 512 * 1024;

/** What is fetched for a page of heads, where parts of the data come with them. */
const HEADS_BYTES = 16 * 1024 * 1024;

/** A list between its pages. */
interface View {
  readonly transaction: ReadTransaction;
  readonly revision: number;
}

/** A row of a page; with the content `heads` it has been cut, unless it is damaged. */
interface ListedRow extends KeyedRow {
  readonly cut?: CutBody;
  readonly damage?: StorageError;
}

/** A page of a list, in rows. */
interface ListedRows {
  readonly rows: readonly ListedRow[];
  readonly continuation?: string;
}

/** The lists of an instance that are read in pages, each at the point in time of a transaction. */
export class PagedLists {
  readonly #connections: Connections;
  readonly #reads: DurableReads;
  readonly #lists: OpenLists<View>;
  /** Ends of transactions under way. */
  readonly #ending = new Set<Promise<void>>();

  constructor(connections: Connections, reads: DurableReads) {
    this.#connections = connections;
    this.#reads = reads;
    this.#lists = new OpenLists({ ...OPEN_LIST_BOUNDS, most: MOST_LISTS }, ({ transaction }) =>
      this.#end(transaction),
    );
  }

  async page(
    content: ListContent,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListedRows> {
    const { limit: rows, maxBytes: bytes } = resolvePageBounds(options);
    const bounds = { rows, bytes, bodyBytes: content === "heads" ? HEAD_BYTES : undefined };
    const query = queryDigest(content, filter);
    const target: RowTarget = { kind: "filter", filter };
    if (options.continueAfter === undefined) return this.#first(target, query, bounds);
    const { epoch } = await this.#reads.run(readHead);
    const last = parseContinuation(options.continueAfter, epoch, query);
    checkKey(last.after);
    return this.#next(target, last, bounds);
  }

  /** Ends all lists. A page that is being read fails. */
  async close(): Promise<void> {
    this.#lists.close();
    await Promise.all(this.#ending);
  }

  /** What fits into one page, as most does, needs no transaction. */
  async #first(target: RowTarget, query: string, bounds: RowPageBounds): Promise<ListedRows> {
    const only = await readWhole(bounds, (widened) =>
      this.#reads.run((sql) => readPage(sql, target, undefined, widened)),
    );
    if (only.next === undefined) return { rows: only.rows };
    const transaction = await this.#openTransaction();
    let isHeld = false;
    try {
      const { epoch, revision, rows, next } = await this.#reads.settle(
        await readWhole(bounds, (widened) =>
          transaction.run((sql) => readPage(sql, target, undefined, widened)),
        ),
      );
      if (next === undefined) return { rows };
      const list = this.#lists.open(query, { transaction, revision });
      isHeld = true;
      return { rows, continuation: formatContinuation({ epoch, list, query, after: next }) };
    } finally {
      if (!isHeld) this.#end(transaction);
    }
  }

  /** One more connection; where the server gives none, that of the list which was not used for the longest time. */
  async #openTransaction(): Promise<ReadTransaction> {
    const until = performance.now() + this.#connections.options.timeoutMs;
    let hasEnded = false;
    for (let pauseMs = FREED_MS; ; pauseMs *= 2) {
      try {
        return await ReadTransaction.open(this.#connections);
      } catch (error) {
        if (!isConnectionRefused(error)) throw error;
        hasEnded ||= this.#lists.endOldest();
        if (!hasEnded || performance.now() + pauseMs > until) throw error;
        // The server gives the connection to the next one a moment after its end.
        await Promise.all(this.#ending);
        await delay(pauseMs);
      }
    }
  }

  async #next(target: RowTarget, last: Continuation, bounds: RowPageBounds): Promise<ListedRows> {
    let isOver = true;
    try {
      return await this.#lists.use(last.list, last.query, async ({ transaction, revision }) => {
        if (transaction.isBroken) throw connectionBroke();
        const page = await readWhole(bounds, (widened) =>
          transaction.run((sql) => readPage(sql, target, last.after, widened)),
        );
        if (page.epoch !== last.epoch || page.revision !== revision) {
          throw connectionBroke();
        }
        if (page.next === undefined) return { rows: page.rows };
        isOver = false;
        const continuation = formatContinuation({ ...last, after: page.next });
        return { rows: page.rows, continuation };
      });
    } finally {
      // Also after a failure: a transaction that has failed gives no further page.
      if (isOver) this.#lists.end(last.list);
    }
  }

  #end(transaction: ReadTransaction): void {
    const ending = transaction[Symbol.asyncDispose]().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

/** The head of a row of a page. */
export function toListedHead({ cut, damage, version }: ListedRow): ResourceHead {
  if (cut !== undefined) return decodeHead(cut, version);
  throw damage ?? new StorageError("STORAGE_CORRUPT", "a stored resource cannot be decoded");
}

function connectionBroke(): StorageError {
  return listExpired("the connection of the list broke");
}

/** A page whose heads are whole: with the usual bytes of each, and if they are not enough with more. */
async function readWhole(
  bounds: RowPageBounds,
  read: (bounds: RowPageBounds) => Promise<RowPage>,
): Promise<RowPage & ListedRows> {
  if (bounds.bodyBytes === undefined) return read(bounds);
  const fetched = { ...bounds, bytes: Math.max(bounds.bytes, HEADS_BYTES) };
  const page = await read(fetched);
  const rows = page.rows.map(cutRow);
  if (rows.every((row) => row !== undefined)) return cutPage(page, rows, bounds);
  const wider = await read({ ...fetched, bodyBytes: LARGEST_HEAD_BYTES });
  // What is in front of the data is never longer.
  return cutPage(
    wider,
    wider.rows.map((row) => cutRow(row) ?? row),
    bounds,
  );
}

/** The row with its head; `undefined` when that is longer than what was fetched. */
function cutRow(row: KeyedRow): ListedRow | undefined {
  try {
    if (row.body.byteLength === row.size) checkBody(row.body);
    const cut = cutBody(row.body, row.size);
    return cut === undefined ? undefined : { ...row, cut };
  } catch (error) {
    if (isStorageError(error, "STORAGE_CORRUPT")) return { ...row, damage: error };
    throw error;
  }
}

/** The bytes of a head are known only here. */
function cutPage(
  page: RowPage,
  rows: readonly ListedRow[],
  { rows: limit, bytes: maxBytes }: RowPageBounds,
): RowPage & ListedRows {
  const meter = new PageMeter({ limit, maxBytes });
  const end = rows.findIndex(({ cut }) => !meter.take(cut?.envelope.byteLength ?? 0));
  if (end === -1) return { ...page, rows };
  const taken = rows.slice(0, end);
  const next = taken.at(-1)?.key;
  return { ...page, rows: taken, ...(next === undefined ? {} : { next }) };
}

/** A key is what `json_build_array` gave: six texts. */
function checkKey(key: string): void {
  let fields: unknown;
  try {
    fields = JSON.parse(key);
  } catch {
    fields = undefined;
  }
  const isKey =
    Array.isArray(fields) &&
    fields.length === 6 &&
    fields.every(
      (field: unknown) =>
        typeof field === "string" && field.isWellFormed() && !field.includes("\0"),
    );
  if (isKey) return;
  throw new StorageError(
    "STORAGE_INVALID_ARGUMENT",
    "continueAfter is not a continuation of a list",
    { details: { field: "continueAfter" } },
  );
}
