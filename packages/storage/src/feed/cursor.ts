// A cursor names a commit: the epoch of the store's content, and the revision. The epoch changes
// when the content is replaced, so that a position in the old content is not taken for one in the new.

/** The text of a cursor. */
export function formatCursor(epoch: string, revision: number): string {
  return `${epoch}.${revision}`;
}

/** The revision of a cursor, or `undefined` when it is malformed or of another epoch. */
export function parseCursor(cursor: string, epoch: string): number | undefined {
  if (!cursor.startsWith(`${epoch}.`)) return undefined;
  const text = cursor.slice(epoch.length + 1);
  if (!/^(0|[1-9]\d{0,15})$/.test(text)) return undefined;
  return Number(text);
}
