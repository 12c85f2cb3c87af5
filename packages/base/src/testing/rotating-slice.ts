/**
 * The part of a long table of cases that one run works through: every `parts`th item, counted from the number in the
 * variable `STACKWRIGHT_SLICE`, which `.ci/run` derives from the commit. Without the variable all items, so that a
 * developer who runs the file alone leaves nothing out.
 *
 * @param parts At least 1; so many runs in a row, on seeds that follow one another, cover the table.
 */
export function rotatingSlice<Item>(
  items: readonly Item[],
  parts: number,
  seed: string | undefined = process.env["STACKWRIGHT_SLICE"],
): readonly Item[] {
  if (seed === undefined) return items;
  const first = Number(seed) % parts;
  return items.filter((_, at) => at % parts === first);
}
