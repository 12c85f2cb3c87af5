import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { formatContinuation, parseContinuation, queryDigest } from "../../list/continuation.ts";
import { OPEN_LIST_BOUNDS, OpenLists } from "../../list/open-lists.ts";
import { PageMeter } from "../../list/page-bounds.ts";
import { cutBody } from "../../list/resource-head.ts";
import type { HeadRow, ListPageRequest, ListPageRows } from "./protocol.ts";
import type { Readers } from "./readers.ts";
import { isIntact } from "./rows.ts";
import { type KeyedRow, selectFiltered } from "./select-filtered.ts";

interface PageOfRows {
  readonly rows: readonly HeadRow[];
  readonly after?: string;
}

/**
 * Lists that are read in pages. Between its pages a list holds a connection whose read transaction is
 * its point in time, which keeps the log from being reset; so it is bounded in time.
 */
export class PagedLists {
  readonly #readers: Readers;
  readonly #lists: OpenLists<DatabaseSync>;

  constructor(readers: Readers, idleMs: number) {
    this.#readers = readers;
    this.#lists = new OpenLists({ ...OPEN_LIST_BOUNDS, idleMs }, (reader) => readers.end(reader));
  }

  /** A page; `damaged` makes the error of a row whose content is not what was written. */
  page(request: ListPageRequest, epoch: string, damaged: (row: KeyedRow) => Error): ListPageRows {
    const { continueAfter, filter, content } = request;
    const query = queryDigest(content, filter);
    if (continueAfter === undefined) return this.#first(request, query, damaged);
    const last = parseContinuation(continueAfter, epoch, query);
    const { rows, after } = this.#lists.useNow(last.list, query, (reader) =>
      readPage(reader, request, damaged, last.after),
    );
    if (after !== undefined) return { rows, continuation: formatContinuation({ ...last, after }) };
    this.#lists.end(last.list);
    return { rows };
  }

  /** Ends all lists. */
  endAll(): void {
    this.#lists.endAll();
  }

  #first(request: ListPageRequest, query: string, damaged: (row: KeyedRow) => Error): ListPageRows {
    const reader = this.#readers.begin();
    let isHeld = false;
    try {
      const store = reader.prepare("SELECT epoch FROM store").get();
      const { rows, after } = readPage(reader, request, damaged);
      if (after === undefined) return { rows };
      const list = this.#lists.open(query, reader);
      isHeld = true;
      const epoch = String(store?.epoch);
      return { rows, continuation: formatContinuation({ epoch, list, query, after }) };
    } finally {
      if (!isHeld) this.#readers.end(reader);
    }
  }
}

function readPage(
  reader: DatabaseSync,
  { filter, content, bounds }: ListPageRequest,
  damaged: (row: KeyedRow) => Error,
  behind?: string,
): PageOfRows {
  const meter = new PageMeter(bounds);
  const rows: HeadRow[] = [];
  let after: Uint8Array | undefined;
  for (const row of selectFiltered(reader, filter, behind)) {
    const sent = content === "heads" ? toHeadRow(row, damaged) : toBodyRow(row);
    if (!meter.take(sent.body.byteLength) && after !== undefined) {
      return { rows, after: Buffer.from(after).toString() };
    }
    rows.push(sent);
    after = row.key;
  }
  return { rows };
}

function toBodyRow({ version, body, checksum }: KeyedRow): HeadRow {
  return { version, body, checksum };
}

/** The checksum is of the whole body, which only this side has; a body that is damaged is sent as it is. */
function toHeadRow(row: KeyedRow, damaged: (row: KeyedRow) => Error): HeadRow {
  if (!isIntact(row)) return toBodyRow(row);
  const cut = cutBody(row.body, row.body.byteLength);
  if (cut === undefined) throw damaged(row);
  // A copy: sending a part of the memory would send all of it.
  const body = new Uint8Array(cut.envelope);
  const { version } = row;
  return {
    version,
    body,
    checksum: crc32(body),
    ...(cut.data === undefined ? {} : { data: cut.data }),
  };
}
