const ESCAPES: Readonly<Record<string, string | undefined>> = {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  '"': '\\"',
  "\\": "\\\\",
};

/** What is not shown as itself: all but letters, marks, numbers, punctuation, symbols and space. */
const NOT_PRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** Text as it is written between quotes: what would end or open something is escaped. */
export function quoteLiteral(text: string): string {
  let out = "";
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at) ?? 0;
    const char = String.fromCodePoint(code);
    at += char.length;
    const escape = ESCAPES[char];
    if (escape !== undefined) out += escape;
    else if ((char === "$" || char === "%") && text[at] === "{") out += char + char;
    else if (NOT_PRINTABLE.test(char)) out += unicodeEscape(code);
    else out += char;
  }
  return out;
}

function unicodeEscape(code: number): string {
  const digits = code.toString(16);
  return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}
