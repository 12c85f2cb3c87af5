// The history of an etcd cluster has no times, so a store that forgets by time notes down now and then how far the cluster is: the
// changes up to the revision of a mark are at least as old as the mark.

/** A revision of the cluster, and when it was the last one. */
export type HistoryMark = readonly [revision: number, atMs: number];

/** Marks from a clock that is ahead by more than this are dated again. */
const CLOCK_SLACK_MS = 60_000;

/** Marks in the longest age. All are in one value, and the cluster keeps each value as long as the history. */
const MARKS = 8;

/** What is to be noted down, and up to where the history is too old. */
interface NextMarks {
  readonly marks: readonly HistoryMark[];
  /** The last revision that is too old. */
  readonly compact: number | undefined;
}

/**
 * The marks after a look at the clock; undefined when they stay as they are. Marks that are too old go, as the
 * history before them does. A clock that was set back costs at most one more age.
 */
export function nextMarks(
  marks: readonly HistoryMark[],
  {
    revision,
    nowMs,
    maxAgeMs,
  }: {
    readonly revision: number;
    readonly nowMs: number;
    readonly maxAgeMs: number;
  },
): NextMarks | undefined {
  let isChanged = false;
  const dated = marks.map(([at, ms]): HistoryMark => {
    if (ms <= nowMs + CLOCK_SLACK_MS) return [at, ms];
    isChanged = true;
    return [at, nowMs];
  });
  const [lastRevision, lastMs] = dated.at(-1) ?? [0, Number.NEGATIVE_INFINITY];
  if (nowMs - lastMs >= maxAgeMs / MARKS && revision > lastRevision) {
    // Noting it down takes one more, so that a store in which nothing happens gets no further marks.
    dated.push([revision + 1, nowMs]);
    isChanged = true;
  }
  const tooOld = dated.filter(([, ms]) => ms <= nowMs - maxAgeMs);
  const compact = tooOld.at(-1)?.[0];
  if (!isChanged && compact === undefined) return undefined;
  return { marks: dated.slice(tooOld.length), compact };
}

/** The text of marks. */
export function formatMarks(marks: readonly HistoryMark[]): string {
  return marks.map(([revision, atMs]) => `${revision}@${Math.floor(atMs)}`).join(" ");
}

/** The marks of a text; none of a text that has another form. */
export function parseMarks(text: string): readonly HistoryMark[] {
  const marks: HistoryMark[] = [];
  for (const word of text.split(" ").filter((part) => part !== "")) {
    const [, revision, atMs] = /^(\d{1,15})@(\d{1,15})$/.exec(word) ?? [];
    if (revision === undefined || atMs === undefined) return [];
    marks.push([Number(revision), Number(atMs)]);
  }
  return marks;
}
