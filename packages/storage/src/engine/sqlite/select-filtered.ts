import type { DatabaseSync } from "node:sqlite";
import type { ResourceFilter } from "../../key.ts";
import { scanIsExact, scanStart, scanStep, splitKey } from "../../scan.ts";
import type { BodyRow } from "./protocol.ts";

/** A row with its key. */
export interface KeyedRow extends BodyRow {
  readonly key: Uint8Array;
}

/** The rows that a filter selects, in key order; with `behind` those whose keys come after it. */
export function* selectFiltered(
  reader: DatabaseSync,
  filter: ResourceFilter,
  behind?: string,
): Generator<KeyedRow> {
  const statement = reader.prepare(
    "SELECT key, version, body, checksum FROM resource WHERE key >= ? AND key < ? ORDER BY key",
  );
  const start = Buffer.from(scanStart(filter));
  const end = successor(start);
  const exact = scanIsExact(filter);
  let from: Buffer | undefined = start;
  if (behind !== undefined) {
    const after = Buffer.from(`${behind}\0`);
    if (Buffer.compare(after, start) > 0) from = after;
  }
  while (from !== undefined) {
    let jump: string | undefined;
    for (const row of statement.iterate(from, end) as unknown as Iterable<KeyedRow>) {
      // Without a wildcard the statement selects nothing but matches.
      const step = exact
        ? "take"
        : scanStep(filter, splitKey(Buffer.from(row.key).toString()), isBefore);
      if (step === "take") {
        yield row;
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
