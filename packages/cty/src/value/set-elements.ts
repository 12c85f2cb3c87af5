import { compareNumbers } from "../number/number-payload.ts";
import { compareStrings } from "../text/strings.ts";
import type { Type } from "../type/type.ts";
import { equalPayloads, identicalPayloads } from "./equality.ts";
import { isNumberPayload, type Payload, payloadFlags, SetElements, Unknown } from "./payload.ts";
import { bucketNumber, setHashText } from "./set-hash.ts";

/**
 * Makes a set of unmarked payloads of one type: drops later duplicates and puts the rest into iteration order.
 *
 * The order is the reference's. Strings by code point, numbers by size, false before true; compound elements by the
 * bytes of their hash text; then unknowns, then null. What this leaves undecided (unknown elements, mainly) keeps the
 * order of buckets, and within a bucket the order of insertion.
 */
export function setPayload(element: Type, items: readonly Payload[]): SetElements {
  const distinct = isPlainStrings(items) ? distinctStrings(items) : distinctSorted(element, items);
  let flags = 0;
  for (const item of distinct) flags |= payloadFlags(element, item);
  return new SetElements(distinct, flags);
}

function isPlainStrings(items: readonly Payload[]): items is readonly string[] {
  return items.every((item) => typeof item === "string");
}

function distinctStrings(items: readonly string[]): string[] {
  const distinct = [...new Set(items)];
  // Without surrogates the platform's order by UTF-16 units is the order by code points.
  const plain = distinct.every((text) => !/[\ud800-\uffff]/.test(text));
  return plain ? distinct.sort() : distinct.sort(compareStrings);
}

interface Candidate {
  readonly payload: Payload;
  readonly hashText: string;
}

function distinctSorted(element: Type, items: readonly Payload[]): Payload[] {
  const buckets = new Map<string, Candidate[]>();
  const candidates: Candidate[] = [];
  for (const payload of items) {
    const hashText = setHashText(element, payload);
    const bucket = buckets.get(hashText);
    if (bucket !== undefined && hasEqual(element, bucket, payload)) continue;
    const candidate = { payload, hashText };
    if (bucket === undefined) buckets.set(hashText, [candidate]);
    else bucket.push(candidate);
    candidates.push(candidate);
  }
  // The sort is stable: what stays equal keeps the order of insertion.
  candidates.sort(
    (a, b) =>
      compareCandidates(element, a, b) ||
      (a.hashText === b.hashText ? 0 : bucketNumber(a.hashText) - bucketNumber(b.hashText)),
  );
  return candidates.map((candidate) => candidate.payload);
}

/** An unknown is never a duplicate: two of them may stand for different values. */
function hasEqual(element: Type, bucket: readonly Candidate[], payload: Payload): boolean {
  if (payload instanceof Unknown) return false;
  return bucket.some((own) => equalPayloads(own.payload, element, payload, element) === true);
}

function compareCandidates(element: Type, a: Candidate, b: Candidate): number {
  const x = a.payload;
  const y = b.payload;
  const byState = stateOrder(x) - stateOrder(y);
  if (byState !== 0 || stateOrder(x) > 0) return byState;
  if (typeof x === "string" && typeof y === "string") return compareStrings(x, y);
  if (typeof x === "boolean" && typeof y === "boolean") return Number(x) - Number(y);
  if (isNumberPayload(x) && isNumberPayload(y)) {
    return identicalPayloads(element, x, y) ? 0 : compareNumbers(x, y);
  }
  return compareStrings(a.hashText, b.hashText);
}

/** Known, then unknown, then null. */
function stateOrder(payload: Payload): number {
  if (payload === null) return 2;
  return payload instanceof Unknown ? 1 : 0;
}
