/** The names that READMEs use; others stay as they are written. */
const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  reg: "®",
  trade: "™",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  larr: "←",
  rarr: "→",
  bull: "•",
  middot: "·",
  times: "×",
  check: "✓",
};

/** A text with its character references resolved, such as `&lt;` and `&#x41;`. */
export function resolveReferences(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}));/g,
    (found: string, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return NAMED[name] ?? found;
      const point = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      const isCharacter = point > 0 && point <= 0x10_ff_ff && (point < 0xd8_00 || point > 0xdf_ff);
      return isCharacter ? String.fromCodePoint(point) : "\ufffd";
    },
  );
}
