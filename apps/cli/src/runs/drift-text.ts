/** How much drift a check found, for people. */
export function driftText({
  changed,
  deleted,
}: {
  readonly changed: number;
  readonly deleted: number;
}): string {
  const parts = [
    ...(changed > 0 ? [`${changed} changed outside`] : []),
    ...(deleted > 0 ? [`${deleted} deleted outside`] : []),
  ];
  return parts.length === 0 ? "no drift" : parts.join(", ");
}
