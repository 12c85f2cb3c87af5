import type { ProblemCollector } from "./problem.ts";

const DOLLAR = 36;
const PERCENT = 37;
const BACKSLASH = 92;
const OPEN_BRACE = 123;

/**
 * How many UTF-16 units of literal text a `$` or `%` begins: none where it opens a sequence
 * (`${`), three where it is an escaped opener (`$${`), otherwise the character alone.
 */
export function literalDollarLength(text: string, at: number): number {
  const char = text.charCodeAt(at);
  const next = text.charCodeAt(at + 1);
  if (next === OPEN_BRACE) return 0;
  return next === char && text.charCodeAt(at + 2) === OPEN_BRACE ? 3 : 1;
}

/** Literal text of a heredoc or bare template: only `$${` and `%%{` are escapes. */
export function decodePlainText(text: string): string {
  if (!text.includes("$${") && !text.includes("%%{")) return text;
  let out = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if ((char === DOLLAR || char === PERCENT) && literalDollarLength(text, at) === 3) {
      out += text.slice(from, at + 1);
      from = at + 2;
      at += 2;
    }
  }
  return out + text.slice(from);
}

const SIMPLE: Readonly<Record<string, string | undefined>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  '"': '"',
  "\\": "\\",
};

/**
 * Literal text between quotes, its escapes resolved. `offset` is where it stands in the source;
 * wrong escapes are reported there and stay in the result as they are written.
 */
export function decodeQuotedText(text: string, offset: number, problems: ProblemCollector): string {
  if (!text.includes("\\")) return decodePlainText(text);
  let out = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === BACKSLASH) {
      out += text.slice(from, at);
      const escape = readEscape(text, at, offset, problems);
      out += escape.value;
      at += escape.length - 1;
      from = at + 1;
    } else if ((char === DOLLAR || char === PERCENT) && literalDollarLength(text, at) === 3) {
      out += text.slice(from, at + 1);
      from = at + 2;
      at += 2;
    }
  }
  return out + text.slice(from);
}

function readEscape(
  text: string,
  at: number,
  offset: number,
  problems: ProblemCollector,
): { value: string; length: number } {
  const selector = String.fromCodePoint(text.codePointAt(at + 1) ?? BACKSLASH);
  if (at + 1 >= text.length) {
    const detail = "A backslash begins an escape sequence: another character must follow.";
    problems.error("LANG_ESCAPE", detail, offset + at, offset + at + 1);
    return { value: "\\", length: 1 };
  }
  const simple = SIMPLE[selector];
  if (simple !== undefined) return { value: simple, length: 2 };
  if (selector === "u" || selector === "U") return readUnicode(text, at, offset, problems);
  const length = 1 + selector.length;
  problems.error(
    "LANG_ESCAPE",
    `There is no escape sequence "\\${selector}". The escapes are \\n, \\r, \\t, \\", \\\\, \\uNNNN and \\UNNNNNNNN; for a backslash write "\\\\".`,
    offset + at,
    offset + at + length,
  );
  return { value: selector, length };
}

function readUnicode(
  text: string,
  at: number,
  offset: number,
  problems: ProblemCollector,
): { value: string; length: number } {
  const wanted = text[at + 1] === "u" ? 4 : 8;
  const digits = /^[0-9A-Fa-f]*/.exec(text.slice(at + 2, at + 2 + wanted))?.[0] ?? "";
  const length = 2 + digits.length;
  const literal = { value: text.slice(at, at + length), length };
  if (digits.length !== wanted) {
    const form = wanted === 4 ? "\\u must be followed by four" : "\\U must be followed by eight";
    problems.error(
      "LANG_ESCAPE",
      `The escape ${form} hexadecimal digits.`,
      offset + at,
      offset + at + length,
    );
    return literal;
  }
  const code = Number.parseInt(digits, 16);
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    problems.error(
      "LANG_ESCAPE",
      `U+${digits.toUpperCase()} is not a character: it lies outside of Unicode or is half of a surrogate pair.`,
      offset + at,
      offset + at + length,
    );
    return literal;
  }
  return { value: String.fromCodePoint(code), length };
}
