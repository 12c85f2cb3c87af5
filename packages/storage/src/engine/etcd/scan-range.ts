import type { KeyRange } from "./layout.ts";

// A member that answers with some keys of a range counts all of the range. A scan of many keys asks for them in parts, so it
// would count what is left with each part. Where that is much, a part is bounded by a prefix that the last keys share, and where such a
// block is over the next one is of a shorter prefix. Blocks follow each other without gaps, so what they are bounded by changes
// the cost, never the content.

/** Keys in a range that a member may count with each answer. */
const MOST_COUNTED = 20_000;

/** What a scan has not asked for yet, and the block of it that comes next. */
export class ScanRange {
  readonly #rangeEnd: Buffer;
  #from: Buffer;
  #blockEnd: Buffer;
  /** Bytes by which the next prefix is shorter; more after each block without keys. */
  #shorter = 1;

  constructor({ key, rangeEnd }: KeyRange) {
    this.#from = key;
    this.#rangeEnd = rangeEnd;
    this.#blockEnd = rangeEnd;
  }

  /** The keys to ask for; `undefined` when there are none left. */
  get next(): KeyRange | undefined {
    if (Buffer.compare(this.#from, this.#rangeEnd) >= 0) return undefined;
    return { key: this.#from, rangeEnd: this.#blockEnd };
  }

  /** Leaves out what is in front of a key. */
  jump(key: Buffer): void {
    if (Buffer.compare(key, this.#from) <= 0) return;
    this.#from = key;
    this.#widen();
  }

  /** Takes note of an answer: its first and last key, how many of the block are behind, and whether there are any. */
  advance(first: Uint8Array, last: Uint8Array, behind: number): void {
    this.#shorter = 1;
    if (behind > MOST_COUNTED) this.#blockEnd = this.#least(blockEnd(first, last));
  }

  /** Takes note that nothing is left of the block. */
  exhaust(): void {
    this.#from = this.#blockEnd;
    this.#widen();
    this.#shorter *= 2;
  }

  /** Bounds the first block by a prefix of the key that the scan begins behind. */
  narrow(prefix: Uint8Array): void {
    const end = successor(prefix);
    if (end !== undefined) this.#blockEnd = this.#least(end);
    this.#widen();
  }

  /** A block that has room behind `#from`. */
  #widen(): void {
    while (
      Buffer.compare(this.#from, this.#blockEnd) >= 0 &&
      Buffer.compare(this.#blockEnd, this.#rangeEnd) < 0
    ) {
      const prefix = this.#blockEnd.subarray(0, -this.#shorter);
      this.#blockEnd = this.#least(successor(prefix) ?? this.#rangeEnd);
    }
  }

  #least(end: Buffer): Buffer {
    return Buffer.compare(end, this.#rangeEnd) < 0 ? end : this.#rangeEnd;
  }
}

/** Behind all keys with the prefix that two keys share, and in it up to those with the next byte of the last one. */
function blockEnd(first: Uint8Array, last: Uint8Array): Buffer {
  let shared = 0;
  while (shared < last.length && first[shared] === last[shared]) shared += 1;
  return successor(last.subarray(0, shared + 1)) ?? Buffer.from(last);
}

/** The first key behind those with a prefix; `undefined` of an empty one. Texts have no byte 0xff, so the last byte can be raised. */
function successor(prefix: Uint8Array): Buffer | undefined {
  const end = Buffer.from(prefix);
  const last = end.at(-1);
  if (last === undefined) return undefined;
  end[end.length - 1] = last + 1;
  return end;
}
