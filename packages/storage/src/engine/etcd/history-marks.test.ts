import { expect, test } from "vitest";
import { formatMarks, type HistoryMark, nextMarks, parseMarks } from "./history-marks.ts";

const AGE = { maxAgeMs: 3_600_000 };

test("the history is compacted up to where it is too old, and no further", () => {
  let marks: readonly HistoryMark[] = [];
  const compacted: (readonly [nowMs: number, revision: number])[] = [];
  for (let minute = 0; minute <= 240; minute += 1) {
    const nowMs = minute * 60_000;
    const next = nextMarks(marks, { revision: 100 + minute, nowMs, ...AGE });
    if (next === undefined) continue;
    marks = next.marks;
    if (next.compact !== undefined) compacted.push([nowMs, next.compact]);
    expect(marks.length).toBeLessThanOrEqual(10);
  }
  for (const [nowMs, revision] of compacted) {
    expect(revision - 101).toBeLessThanOrEqual(nowMs / 60_000 - 60);
  }
  // Four hours later nothing is left that is older than an hour and an eighth.
  expect((compacted.at(-1)?.[1] ?? 0) - 100).toBeGreaterThanOrEqual(240 - 68);
});

test("a store in which nothing happens gets no marks", () => {
  const first = nextMarks([], { revision: 7, nowMs: 0, ...AGE });
  expect(first).toEqual({ marks: [[8, 0]], compact: undefined });
  expect(nextMarks([[8, 0]], { revision: 8, nowMs: 3_000_000, ...AGE })).toBeUndefined();
  expect(nextMarks([[8, 0]], { revision: 8, nowMs: 3_600_000, ...AGE })).toEqual({
    marks: [],
    compact: 8,
  });
});

test("marks of a clock that was ahead are dated again, and too old an age later", () => {
  const ahead: readonly HistoryMark[] = [
    [5, 90_000_000],
    [6, 90_500_000],
  ];
  const next = nextMarks(ahead, { revision: 6, nowMs: 1_000, ...AGE });
  expect(next).toEqual({
    marks: [
      [5, 1_000],
      [6, 1_000],
    ],
    compact: undefined,
  });
  const later = nextMarks(next?.marks ?? [], { revision: 6, nowMs: 3_601_000, ...AGE });
  expect(later).toEqual({ marks: [], compact: 6 });
});

test("marks are read as they were written, and no others", () => {
  const marks: readonly HistoryMark[] = [
    [5, 1_000],
    [6, 2_000],
  ];
  expect(parseMarks(formatMarks(marks))).toEqual(marks);
  expect(parseMarks("")).toEqual([]);
  expect(parseMarks("5@1000 nonsense")).toEqual([]);
});
