import { randomBytes } from "node:crypto";

/** Crockford's alphabet: no I, L, O and U. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_LENGTH = 10;
const RANDOM_LENGTH = 16;
const ULID_PATTERN = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Where ULIDs get their time and their random bytes. */
export interface UlidSource {
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  /** @default cryptographically strong bytes */
  readonly randomBytes?: (count: number) => Uint8Array;
}

/**
 * A generator of ULIDs (26 characters, lexicographic order = time order) that rise strictly: within
 * one millisecond, and while the clock goes backwards, the random part of the last one is counted up.
 */
export function createUlidGenerator(source: UlidSource): () => string {
  const random = source.randomBytes ?? randomBytes;
  let lastTime = -1;
  /** Base-32 digits of the random part, the most significant first. */
  let digits: number[] = [];
  return () => {
    const now = Math.floor(source.wallMs());
    if (now > lastTime || !countUp(digits)) {
      lastTime = Math.max(now, lastTime + 1);
      digits = Array.from(random(RANDOM_LENGTH), (byte) => byte & 31);
    }
    return encodeTime(lastTime) + digits.map((digit) => ALPHABET[digit]).join("");
  };
}

/** Whether a text is a ULID in its canonical upper-case form. */
export function isUlid(text: string): boolean {
  return ULID_PATTERN.test(text);
}

/** Milliseconds since 1970 of a ULID. */
export function ulidTime(ulid: string): number {
  let time = 0;
  for (const letter of ulid.slice(0, TIME_LENGTH)) time = time * 32 + ALPHABET.indexOf(letter);
  return time;
}

function encodeTime(time: number): string {
  let text = "";
  for (let rest = time; text.length < TIME_LENGTH; rest = Math.floor(rest / 32)) {
    text = (ALPHABET[rest % 32] ?? "0") + text;
  }
  return text;
}

/** Adds one to the digits; false when they overflow. */
function countUp(digits: number[]): boolean {
  for (let index = digits.length - 1; index >= 0; index -= 1) {
    const digit = (digits[index] ?? 0) + 1;
    digits[index] = digit & 31;
    if (digit < 32) return true;
  }
  return false;
}
