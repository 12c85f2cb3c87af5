import { listResourceHeads, type StorageBackend } from "@stackwright/storage";
import { type RunReference, segmentPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { SEGMENT_EVENTS } from "../queue/append-events.ts";

/** Hexadecimal digits by which segments of one range of the sequence differ; {@link SEGMENT_EVENTS} is one range. */
const RANGE_DIGITS = 2;

/**
 * The first sequence number of the segment that holds an event. Lists two ranges of the sequence at most, as no segment is
 * longer than one: the cost does not grow with the log.
 */
export async function findSegment(
  { storage }: { readonly storage: StorageBackend },
  reference: RunReference,
  seq: number,
): Promise<number> {
  const { type } = SERVER_KINDS.segment;
  for (let range = Math.floor(seq / SEGMENT_EVENTS), ranges = 0; range >= 0 && ranges < 2; ) {
    const { tenancy, name } = segmentPlace(reference, range * SEGMENT_EVENTS);
    const prefix = name.slice(0, -RANGE_DIGITS);
    let last: number | undefined;
    for await (const { id } of listResourceHeads(storage, "strong", type, tenancy, prefix)) {
      const first = Number.parseInt(id.name.slice(name.lastIndexOf(".") + 1), 16);
      if (first <= seq && first > (last ?? -1)) last = first;
    }
    if (last !== undefined) return last;
    range -= 1;
    ranges += 1;
  }
  // Beyond the end of the log: what is appended next begins there.
  return seq;
}
