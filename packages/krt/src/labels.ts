/** Labels of an object, or the label values a selector asks for. */
export type Labels = Readonly<Record<string, string>>;

/**
 * Whether every pair of `wanted` is in `labels`. This is both "the labels match this filter" and,
 * with the roles exchanged, "this selector selects those labels". Absent means empty.
 */
export function includesLabels(labels: Labels | undefined, wanted: Labels | undefined): boolean {
  if (wanted === undefined || labels === wanted) return true;
  for (const name in wanted) {
    if (labels === undefined || labels[name] !== wanted[name]) return false;
  }
  return true;
}

/** Whether there is no pair at all. */
export function isEmptyLabels(labels: Labels | undefined): boolean {
  if (labels === undefined) return true;
  for (const _ in labels) return false;
  return true;
}

/** Whether both hold the same pairs. */
export function sameLabels(a: Labels | undefined, b: Labels | undefined): boolean {
  return a === b || (includesLabels(a, b) && includesLabels(b, a));
}

/** A text that is equal for equal sets of pairs, regardless of their order. */
export function canonicalLabels(labels: Labels): string {
  const names = Object.keys(labels);
  if (names.length > 1) names.sort();
  let text = "";
  for (const name of names) {
    const value = labels[name] ?? "";
    text += `${name.length} ${name}${value.length} ${value}`;
  }
  return text;
}
