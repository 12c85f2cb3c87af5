import type { DatabaseSync } from "node:sqlite";
import { StorageError } from "../../errors.ts";
import type { ResourceFilter } from "../../key.ts";
import { scanIsExact, scanStart, scanStep, splitKey } from "../../scan.ts";
import type { BodyRow, ScanPage, ScanTarget } from "./protocol.ts";

/** A page ends after this many rows or bytes, so that writes get their turn between pages. */
const PAGE_ROWS = 512;
const PAGE_BYTES = 1024 * 1024;

/** Connections kept for the next scan. */
const IDLE_READERS = 4;

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
  readonly #idle: DatabaseSync[] = [];
  readonly #connect: () => DatabaseSync;
  readonly #idleMs: number;
  #lastId = 0;

  constructor(connect: () => DatabaseSync, idleMs: number) {
    this.#connect = connect;
    this.#idleMs = idleMs;
  }

  /** Starts a scan and gives its first page. */
  start(target: ScanTarget): ScanPage {
    const reader = this.#idle.pop() ?? this.#connect();
    try {
      reader.exec("BEGIN");
      const store = reader.prepare("SELECT epoch, revision FROM store").get();
      const scan: OpenScan = {
        reader,
        rows: selectRows(reader, target),
        revision: Number(store?.revision),
        epoch: String(store?.epoch),
        usedAt: performance.now(),
      };
      this.#lastId += 1;
      this.#open.set(this.#lastId, scan);
      return this.#page(this.#lastId, scan);
    } catch (error) {
      reader.close();
      throw error;
    }
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
    scan.reader.exec("COMMIT");
    if (this.#idle.length < IDLE_READERS) this.#idle.push(scan.reader);
    else scan.reader.close();
  }

  /** Ends the scans that were idle for too long. */
  expire(): void {
    const oldest = performance.now() - this.#idleMs;
    for (const [id, scan] of this.#open) {
      if (scan.usedAt < oldest) this.end(id);
    }
  }

  /** Ends everything and closes the connections. */
  close(): void {
    for (const id of this.#open.keys()) this.end(id);
    for (const reader of this.#idle) reader.close();
    this.#idle.length = 0;
  }

  #page(id: number, scan: OpenScan): ScanPage {
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
      return selectFiltered(reader, target.filter);
    default:
      return target satisfies never;
  }
}

interface KeyedRow extends BodyRow {
  readonly key: Uint8Array;
}

function* selectFiltered(reader: DatabaseSync, filter: ResourceFilter): Generator<BodyRow> {
  const statement = reader.prepare(
    "SELECT key, version, body, checksum FROM resource WHERE key >= ? AND key < ? ORDER BY key",
  );
  const start = Buffer.from(scanStart(filter));
  const end = successor(start);
  const exact = scanIsExact(filter);
  let from: Buffer | undefined = start;
  while (from !== undefined) {
    let jump: string | undefined;
    for (const row of statement.iterate(from, end) as unknown as Iterable<KeyedRow>) {
      // Without a wildcard the statement selects nothing but matches.
      const step = exact
        ? "take"
        : scanStep(filter, splitKey(Buffer.from(row.key).toString()), isBefore);
      if (step === "take") {
        yield { version: row.version, body: row.body, checksum: row.checksum };
      } else {
        jump = step.jump;
        break;
      }
    }
    from = jump === undefined ? undefined : Buffer.from(jump);
  }
}

/** The order of the key column: that of the UTF-8 bytes. */
function isBefore(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0;
}

/** The smallest byte string above everything that starts with a prefix; UTF-8 has no 0xff byte. */
function successor(prefix: Buffer): Buffer {
  return Buffer.concat([prefix, Buffer.of(0xff)]);
}
