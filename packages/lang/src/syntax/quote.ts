const ESCAPES: Readonly<Record<string, string | undefined>> = {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  '"': '\\"',
  "\\": "\\\\",
};

/**
 * What is not written as itself: what would end or open something, and all but letters, marks, numbers,
 * punctuation, symbols and space.
 */
const NOT_LITERAL = /["\\]|[$%](?=\{)|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/**
 * Text as it is written between quotes: what would end or open something is escaped. Long texts are
 * mostly written as they are, so no string is made per character: of one in a list of concatenations the
 * engine keeps some forty bytes.
 */
export function quoteLiteral(text: string): string {
  return text.replace(NOT_LITERAL, (char) => {
    const escape = ESCAPES[char];
    if (escape !== undefined) return escape;
    if (char === "$" || char === "%") return char + char;
    return unicodeEscape(char.codePointAt(0) ?? 0);
  });
}

function unicodeEscape(code: number): string {
  const digits = code.toString(16);
  return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}
