import { normalizeString } from "../text/strings.ts";

/**
 * Characters that join a character before them into one composed character under normalisation form C: the second
 * parts of canonical decompositions. Hangul vowels and trailing consonants are handled by range.
 */
const COMPOSING =
  "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030f\u0311\u0313\u0314\u031b" +
  "\u0323\u0324\u0325\u0326\u0327\u0328\u032d\u032e\u0330\u0331\u0338\u0342\u0345\u0653\u0654\u0655" +
  "\u093c\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0c56\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dca\u0dcf\u0ddf" +
  "\u102e\u1b35\u3099\u309a\u{110ba}\u{11127}\u{1133e}\u{11357}\u{114b0}\u{114ba}\u{114bd}\u{115af}\u{11930}";
const COMPOSING_CHARACTERS: readonly string[] = [...Array.from(COMPOSING), "\u1161", "\u11a8"];

/** Single characters that never join with what follows and often end a prefix. */
const DELIMITERS = new Set("-_:;/\\,.(){}[]|?!~ \t@#$%^&*+\"'");

function isHangulTail(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return (code >= 0x1161 && code <= 0x1175) || (code >= 0x11a8 && code <= 0x11c2);
}

/** Whether it begins with a mark that has a combining class, which normalisation may move past another mark. */
function isReorderable(character: string): boolean {
  const first = String.fromCodePoint(character.normalize("NFD").codePointAt(0) ?? 0);
  // U+0334 has the lowest class of all marks and U+0345 the highest.
  const low = `${first}\u0334`;
  const high = `\u0345${first}`;
  return first === "\u0345" || low.normalize("NFD") !== low || high.normalize("NFD") !== high;
}

/** Whether nothing before the character changes when it follows. */
function startsAfresh(character: string): boolean {
  if (character < "\u0300") return true;
  return (
    !COMPOSING_CHARACTERS.includes(character) &&
    !isHangulTail(character) &&
    !isReorderable(character)
  );
}

/** Whether no character behind it can change the character. Complete Hangul syllables count as open, to be safe. */
function isFinal(character: string): boolean {
  if (isReorderable(character) || (character >= "\uac00" && character <= "\ud7a3")) return false;
  return COMPOSING_CHARACTERS.every(
    (next) => (character + next).normalize("NFC") === character + next,
  );
}

/** Where the last piece begins that normalisation could still change, or the whole length if there is none. */
function lastStableBoundary(characters: readonly string[]): number {
  const last = characters.at(-1);
  if (last === undefined || isFinal(last)) return characters.length;
  let start = characters.length - 1;
  while (start > 0 && !startsAfresh(characters[start] ?? "")) start -= 1;
  return start;
}

/**
 * The part of a known prefix that stays unchanged regardless of what follows: normalised, and cut where a following character
 * could compose with its end or extend its last grapheme cluster. A trailing delimiter such as `-` or `/` stays. Source:
 * Unicode annexes 15 (normalisation) and 29 (segmentation), applied as conservatively as the reference does.
 */
export function safeKnownPrefix(prefix: string): string {
  const text = normalizeString(prefix);
  const characters = Array.from(text);
  const boundary = lastStableBoundary(characters);
  if (boundary < characters.length) return characters.slice(0, boundary).join("");
  let last: Intl.SegmentData | undefined;
  for (const cluster of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text)) {
    // The reference's segmentation gives up at a bare line break, so nothing from there on is part of the prefix.
    if (cluster.segment === "\n" || cluster.segment === "\r") return text.slice(0, cluster.index);
    last = cluster;
  }
  if (last === undefined || DELIMITERS.has(last.segment)) return text;
  return text.slice(0, last.index);
}

/**
 * A known prefix of at most `limit` UTF-8 bytes. A longer one is cut one byte below the limit and made safe again. Where
 * the cut goes through a character, only normalisation is considered behind it, as the reference does.
 */
export function truncatedKnownPrefix(prefix: string, limit: number): string {
  const bytes = new TextEncoder().encode(prefix);
  if (bytes.length <= limit) return prefix;
  let end = limit - 1;
  const whole = isCharacterStart(bytes[end]);
  while (end > 0 && !isCharacterStart(bytes[end])) end -= 1;
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, end));
  if (whole) return safeKnownPrefix(text);
  const characters = Array.from(normalizeString(text));
  return characters.slice(0, lastStableBoundary(characters)).join("");
}

function isCharacterStart(byte: number | undefined): boolean {
  return byte === undefined || (byte & 0xc0) !== 0x80;
}
