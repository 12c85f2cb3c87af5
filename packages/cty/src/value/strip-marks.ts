import { Marks } from "./marks.ts";
import { Entries, HAS_MARKS, Marked, type Payload, Sequence } from "./payload.ts";

/**
 * The payload without any marks, and the union of all that were there. Parts without marks are shared with the
 * original, and a payload without any is returned as it is. Sets are not entered: they hold no marks.
 */
export function stripMarks(payload: Payload): readonly [Payload, Marks] {
  if (!mayHaveMarks(payload)) return [payload, Marks.none];
  let marks = Marks.none;
  const strip = (part: Payload): Payload => {
    if (part instanceof Marked) {
      marks = marks.union(part.marks);
      return strip(part.inner);
    }
    if (part instanceof Sequence && (part.flags & HAS_MARKS) !== 0) {
      return new Sequence(part.items.map(strip), part.flags & ~HAS_MARKS);
    }
    if (part instanceof Entries && (part.flags & HAS_MARKS) !== 0) {
      const map = new Map<string, Payload>();
      for (const [key, item] of part.map) map.set(key, strip(item));
      return new Entries(map, part.flags & ~HAS_MARKS);
    }
    return part;
  };
  const stripped = strip(payload);
  return [stripped, marks];
}

function mayHaveMarks(payload: Payload): boolean {
  if (payload instanceof Marked) return true;
  const compound = payload instanceof Sequence || payload instanceof Entries;
  return compound && (payload.flags & HAS_MARKS) !== 0;
}

/** All payloads without marks, and the union of the marks. */
export function stripAllMarks(payloads: readonly Payload[]): readonly [readonly Payload[], Marks] {
  if (!payloads.some(mayHaveMarks)) return [payloads, Marks.none];
  let marks = Marks.none;
  const stripped = payloads.map((payload) => {
    const [plain, own] = stripMarks(payload);
    marks = marks.union(own);
    return plain;
  });
  return [stripped, marks];
}
