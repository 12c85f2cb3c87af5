/*
 * Letter case one character at a time, as the reference does it: a character without a counterpart
 * of one character stays as it is. JavaScript's own functions use the full mapping, in which "ß"
 * becomes two letters.
 */

/** Greek letters with iota: their capital of one character is a title-case letter. */
const IOTA_CAPITALS: readonly (readonly [from: number, to: number, shift: number])[] = [
  [0x1f80, 0x1f87, 8],
  [0x1f90, 0x1f97, 8],
  [0x1fa0, 0x1fa7, 8],
  [0x1fb3, 0x1fb3, 9],
  [0x1fc3, 0x1fc3, 9],
  [0x1ff3, 0x1ff3, 9],
];

/** Letters that are pictures of two, with a title case of their own. */
const DIGRAPHS: Readonly<Record<string, string | undefined>> = {
  Ǆ: "ǅ",
  ǅ: "ǅ",
  ǆ: "ǅ",
  Ǉ: "ǈ",
  ǈ: "ǈ",
  ǉ: "ǈ",
  Ǌ: "ǋ",
  ǋ: "ǋ",
  ǌ: "ǋ",
  Ǳ: "ǲ",
  ǲ: "ǲ",
  ǳ: "ǲ",
};

function isOneCharacter(text: string): boolean {
  return text.length === String.fromCodePoint(text.codePointAt(0) ?? 0).length;
}

function upperCharacter(char: string): string {
  const upper = char.toUpperCase();
  if (isOneCharacter(upper)) return upper;
  const code = char.codePointAt(0) ?? 0;
  const iota = IOTA_CAPITALS.find(([from, to]) => code >= from && code <= to);
  return iota === undefined ? char : String.fromCodePoint(code + iota[2]);
}

function lowerCharacter(char: string): string {
  const lower = char.toLowerCase();
  if (isOneCharacter(lower)) return lower;
  // The capital I with a dot is the only one: its counterpart of one character is a plain i.
  return char === "İ" ? "i" : char;
}

export function toUpper(text: string): string {
  return Array.from(text, upperCharacter).join("");
}

export function toLower(text: string): string {
  return Array.from(text, lowerCharacter).join("");
}

/** Whether a character stands between words: space, and ASCII other than letters, digits, `_`. */
function separatesWords(char: string): boolean {
  if (char <= "\u007f") return !/[A-Za-z0-9_]/.test(char);
  return !/[\p{L}\p{Nd}]/u.test(char) && /\p{White_Space}/u.test(char);
}

/** The first letter of each word as a capital. */
export function toTitle(text: string): string {
  let afterSeparator = true;
  return Array.from(text, (char) => {
    const result = afterSeparator ? (DIGRAPHS[char] ?? upperCharacter(char)) : char;
    afterSeparator = separatesWords(char);
    return result;
  }).join("");
}
