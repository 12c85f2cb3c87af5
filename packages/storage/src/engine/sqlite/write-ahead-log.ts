import { closeSync, openSync, readSync, statSync, truncateSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";

// SQLite recovers a damaged write-ahead log to the last commit before the damage, silently. To be
// able to say so, the frames that belong to the log's current generation (equal salts) are counted
// before the database is opened, and compared with those that SQLite then accepts.

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const SALT_OFFSET = 16;
const FRAME_SALT_OFFSET = 8;
const PAGE_SIZE_OFFSET = 8;

/** What a log file holds before SQLite has opened it. */
interface LogFacts {
  /** Frames that carry the log's current salts, regardless of their checksums. */
  readonly frames: number;
  /** Whether there is a header and it does not have its checksum: then SQLite ignores the log. */
  readonly headerDamaged: boolean;
}

/** Reads the facts of a log file; an absent one holds nothing. */
export function inspectLog(path: string): LogFacts {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < HEADER_BYTES) return { frames: 0, headerDamaged: false };
  const file = openSync(path, "r");
  try {
    const header = readBytes(file, HEADER_BYTES, 0);
    if (!headerIsIntact(header)) return { frames: 0, headerDamaged: true };
    const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(PAGE_SIZE_OFFSET);
    const salts = header.subarray(SALT_OFFSET, SALT_OFFSET + 8);
    let frames = 0;
    for (let at = HEADER_BYTES; at + FRAME_HEADER_BYTES <= size; at += frameBytes) {
      const frame = readBytes(file, FRAME_HEADER_BYTES, at);
      if (!frame.subarray(FRAME_SALT_OFFSET, FRAME_SALT_OFFSET + 8).equals(salts)) break;
      frames += 1;
    }
    return { frames, headerDamaged: false };
  } finally {
    closeSync(file);
  }
}

/**
 * Compares the facts with what an open database has accepted of its log; a notice when commits may
 * have been lost. The unfinished last commit of a writer that died looks the same, and is harmless.
 */
export function logNotice(before: LogFacts, database: DatabaseSync): string | undefined {
  if (before.headerDamaged) return "the write-ahead log has a damaged header and was ignored";
  // A passive checkpoint reports the size of the log before it moves anything.
  const row = database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
  const discarded = before.frames - Number(row?.log ?? 0);
  if (discarded <= 0) return undefined;
  return `${discarded} pages of the write-ahead log are not part of a complete commit and were discarded`;
}

/**
 * Gives back the space that a refused transaction has taken. Its pages lie in the log behind the
 * last commit, and SQLite keeps them allocated for the next one. On a full disk they can be what the
 * checkpoint lacks that would empty the log, and then no later write would find space again.
 *
 * Only for the connection of the store's one writer, outside of a transaction: no connection reads
 * behind the last commit, and no other one appends.
 */
export function releaseLogSpace(database: DatabaseSync): void {
  const path = `${database.location()}-wal`;
  try {
    const committed = Number(database.prepare("PRAGMA wal_checkpoint(NOOP)").get()?.log ?? -1);
    const page = Number(database.prepare("PRAGMA page_size").get()?.page_size);
    if (committed < 0 || !(page > 0)) return;
    const end = committed === 0 ? 0 : HEADER_BYTES + committed * (FRAME_HEADER_BYTES + page);
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > end) truncateSync(path, end);
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  } catch {
    // There is still no space for the checkpoint; what is committed stays in the log, and the next
    // refused write tries again.
  }
}

/** SQLite's checksum over the first 24 bytes, in the byte order that the magic number names. */
function headerIsIntact(header: Buffer): boolean {
  const magic = header.readUInt32BE(0);
  if ((magic & ~1) >>> 0 !== 0x377f0682) return false;
  const word = (at: number): number =>
    (magic & 1) === 1 ? header.readUInt32BE(at) : header.readUInt32LE(at);
  let first = 0;
  let second = 0;
  for (let at = 0; at < 24; at += 8) {
    first = (first + word(at) + second) >>> 0;
    second = (second + word(at + 4) + first) >>> 0;
  }
  return header.readUInt32BE(24) === first && header.readUInt32BE(28) === second;
}

function readBytes(file: number, length: number, position: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(file, bytes, 0, length, position);
  return bytes;
}
