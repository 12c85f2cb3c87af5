/** Made when it is first needed: that takes as long as a tenth of a start, and most texts are plain. */
let segmenter: Intl.Segmenter | undefined;

function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter("und", { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** True where no character can join its neighbour: printable ASCII, tabs and line feeds. */
const PLAIN = /^[\t\n\x20-\x7e]*$/;

/** The grapheme clusters of a text (Unicode extended clusters, by the ICU of this Node). */
export function graphemes(text: string): string[] {
  if (PLAIN.test(text)) return text.split("");
  return Array.from(segmentsOf(text), (part) => part.segment);
}

/** How many grapheme clusters a text has. */
export function graphemeCount(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let count = 0;
  for (const _ of segmentsOf(text)) count++;
  return count;
}

/** The UTF-16 length of the first `count` grapheme clusters of a text. */
export function graphemePrefixLength(text: string, count: number): number {
  if (PLAIN.test(text)) return Math.min(count, text.length);
  let left = count;
  for (const part of segmentsOf(text)) {
    if (left-- <= 0) return part.index;
  }
  return text.length;
}
