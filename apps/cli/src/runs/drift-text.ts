/** How much drift a check found, for people. */
export function driftText({
  changed,
  deleted,
  ignored = 0,
}: {
  readonly changed: number;
  readonly deleted: number;
  readonly ignored?: number | undefined;
}): string {
  const parts = [
    ...(changed > 0 ? [`${changed} changed outside`] : []),
    ...(deleted > 0 ? [`${deleted} deleted outside`] : []),
  ];
  const counted = parts.length === 0 ? ["no drift"] : parts;
  return [...counted, ...(ignored > 0 ? [`${ignored} ignored`] : [])].join(", ");
}
