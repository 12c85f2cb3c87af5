const START = /\p{ID_Start}/u;
const CONTINUE = /\p{ID_Continue}/u;
const WHOLE = /^[_\p{ID_Start}][-\p{ID_Continue}]*$/u;

/** Classes of ASCII: 1 may begin a name, 2 may only continue one. */
const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  if (/[A-Za-z_]/.test(char)) return 1;
  return /[-0-9]/.test(char) ? 2 : 0;
});

/** Whether a name may begin with the character at an offset, whose first UTF-16 unit is `unit`. */
export function isIdentifierStart(unit: number, text: string, at: number): boolean {
  if (unit < 128) return ASCII[unit] === 1;
  // NaN (behind the end) and surrogate halves without partner end up here and do not match.
  return unit >= 128 && START.test(String.fromCodePoint(text.codePointAt(at) ?? 0));
}

/** Number of UTF-16 units by which a name continues at an offset; 0 where the name has ended. */
export function isIdentifierContinue(unit: number, text: string, at: number): number {
  if (unit < 128) return ASCII[unit] === 0 ? 0 : 1;
  if (!(unit >= 128)) return 0;
  const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
  return CONTINUE.test(char) ? char.length : 0;
}

/** Whether a text is a name: it begins like one and has letters, digits, `_` and `-` only. */
export function isIdentifier(text: string): boolean {
  return WHOLE.test(text);
}
