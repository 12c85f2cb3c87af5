import type { WireReader } from "./wire.ts";

const SLOTS = 512;
const LONGEST = 40;

/**
 * The keys of one message, each decoded once: lists of objects repeat the same few keys, and
 * making a string (and hashing it for its `Map`) costs several times the comparison of its bytes.
 *
 * Direct-mapped: a slot remembers where in the message its key was last found. A hit is verified
 * byte by byte, so a clash costs time and never correctness.
 */
export class KeyCache {
  readonly #reader: WireReader;
  readonly #starts = new Int32Array(SLOTS);
  readonly #keys: string[] = [];
  readonly #lengths = new Uint8Array(SLOTS);

  constructor(reader: WireReader) {
    this.#reader = reader;
  }

  text(start: number, end: number): string {
    const length = end - start;
    if (length > LONGEST) return this.#reader.text(start, end, "key");
    const buffer = this.#reader.buffer;
    let hash = length;
    for (let i = start; i < end; i += 1) hash = (Math.imul(hash, 31) + (buffer[i] as number)) | 0;
    const slot = (hash ^ (hash >>> 9)) & (SLOTS - 1);
    const known = this.#keys[slot];
    if (known !== undefined && this.#lengths[slot] === length) {
      const offset = (this.#starts[slot] as number) - start;
      let at = start;
      while (at < end && buffer[at] === buffer[at + offset]) at += 1;
      if (at === end) return known;
    }
    const key = this.#reader.text(start, end, "key");
    this.#keys[slot] = key;
    this.#starts[slot] = start;
    this.#lengths[slot] = length;
    return key;
  }
}
