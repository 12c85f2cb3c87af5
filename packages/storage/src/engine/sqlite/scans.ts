import type { DatabaseSync } from "node:sqlite";
import { StorageError } from "../../errors.ts";
import type { ResourceFilter } from "../../key.ts";
import type { BodyRow, ScanPage, ScanTarget } from "./protocol.ts";
import type { Readers } from "./readers.ts";
import { selectFiltered } from "./select-filtered.ts";

/** A page ends after this many rows or bytes, so that writes get their turn between pages. */
const PAGE_ROWS = 512;
const PAGE_BYTES = 1024 * 1024;

interface OpenScan {
  readonly reader: DatabaseSync;
  readonly rows: Iterator<BodyRow>;
  readonly revision: number;
  readonly epoch: string;
  usedAt: number;
}

/**
 * Scans of the store, page by page. Each has a connection of its own whose read transaction fixes
 * the point in time that all of its pages show. An open scan keeps the log from being reset, so one
 * without a request for a page within the idle time is ended; its next page then fails with
 * `STORAGE_INCONSISTENT`.
 */
export class Scans {
  readonly #open = new Map<number, OpenScan>();
  readonly #readers: Readers;
  readonly #idleMs: number;
  #lastId = 0;

  constructor(readers: Readers, idleMs: number) {
    this.#readers = readers;
    this.#idleMs = idleMs;
  }

  /** Starts a scan and gives its first page. */
  start(target: ScanTarget): ScanPage {
    const scan = this.#begin(target);
    this.#lastId += 1;
    this.#open.set(this.#lastId, scan);
    return this.#page(this.#lastId, scan);
  }

  /** The next page of an open scan. */
  page(id: number): ScanPage {
    const scan = this.#open.get(id);
    if (scan === undefined) {
      throw new StorageError("STORAGE_INCONSISTENT", "the scan was idle for too long", {
        details: { outcome: "not-applied" },
      });
    }
    return this.#page(id, scan);
  }

  /** Ends a scan before its last page. */
  end(id: number): void {
    const scan = this.#open.get(id);
    if (scan === undefined) return;
    this.#open.delete(id);
    scan.rows.return?.();
    this.#readers.end(scan.reader);
  }

  /** Ends the scans that were idle for too long. */
  expire(): void {
    const oldest = performance.now() - this.#idleMs;
    for (const [id, scan] of this.#open) {
      if (scan.usedAt < oldest) this.end(id);
    }
  }

  /** Ends all scans. */
  endAll(): void {
    for (const id of Array.from(this.#open.keys())) this.end(id);
  }

  #begin(target: ScanTarget): OpenScan {
    const reader = this.#readers.begin();
    try {
      const store = reader.prepare("SELECT epoch, revision FROM store").get();
      return {
        reader,
        rows: selectRows(reader, target),
        revision: Number(store?.revision),
        epoch: String(store?.epoch),
        usedAt: performance.now(),
      };
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  /** A page. A scan that fails is gone, and its connection with it: on a damaged page, say. */
  #page(id: number, scan: OpenScan): ScanPage {
    try {
      return this.#read(id, scan);
    } catch (error) {
      this.#open.delete(id);
      scan.reader.close();
      throw error;
    }
  }

  #read(id: number, scan: OpenScan): ScanPage {
    const rows: BodyRow[] = [];
    let bytes = 0;
    while (rows.length < PAGE_ROWS && bytes < PAGE_BYTES) {
      const next = scan.rows.next();
      if (next.done === true) {
        this.end(id);
        return { rows, revision: scan.revision, epoch: scan.epoch };
      }
      rows.push(next.value);
      bytes += next.value.body.byteLength;
    }
    scan.usedAt = performance.now();
    return { rows, revision: scan.revision, epoch: scan.epoch, scan: id };
  }
}

function selectRows(reader: DatabaseSync, target: ScanTarget): Iterator<BodyRow> {
  const columns = "version, body, checksum";
  switch (target.kind) {
    case "all":
      return reader
        .prepare(`SELECT ${columns} FROM resource ORDER BY key`)
        .iterate() as unknown as Iterator<BodyRow>;
    case "owner":
      return reader
        .prepare(`SELECT ${columns} FROM resource WHERE owner = ?`)
        .iterate(Buffer.from(target.owner)) as unknown as Iterator<BodyRow>;
    case "filter":
      return selectBodies(reader, target.filter);
    default:
      return target satisfies never;
  }
}

function* selectBodies(reader: DatabaseSync, filter: ResourceFilter): Generator<BodyRow> {
  for (const { version, body, checksum } of selectFiltered(reader, filter)) {
    yield { version, body, checksum };
  }
}
