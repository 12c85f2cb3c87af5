/**
 * Brings a string into the form that values keep: well-formed Unicode (a lone surrogate becomes U+FFFD) in
 * normalisation form C. Two strings mean the same text exactly when their normalised forms are identical.
 */
export function normalizeString(text: string): string {
  // Nothing below U+0300 combines with anything, and most strings are of this kind.
  if (!/[\u0300-\uffff]/.test(text)) return text;
  return text.toWellFormed().normalize("NFC");
}

/**
 * Orders strings by code point, which is the order of their UTF-8 bytes. JavaScript's `<` compares UTF-16 units and
 * puts characters beyond U+FFFF before U+E000.
 */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates stand for code points beyond all other units.
    const high = (x & 0xf800) === 0xd800;
    if (high !== ((y & 0xf800) === 0xd800)) return high ? 1 : -1;
    return x - y;
  }
  return a.length - b.length;
}
