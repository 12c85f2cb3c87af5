import { recordFigure } from "@stackwright-bench/figures";
import { showSpread, type Timing } from "./measure.ts";

const missed: string[] = [];

/** Prints a heading with what one operation is. */
export function heading(id: string, what: string): void {
  console.log(`\n## ${id} ${what}\n`);
}

/** Prints one Markdown table; the first column is left-aligned. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(3, ...all.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join(" | ")} |`;
  console.log(line(head));
  console.log(
    `| ${widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`,
  );
  for (const row of rows) console.log(line(row));
}

/** Rows of one measurement: size, who, time, ratio to the baseline. */
export function timingRows(size: string, timings: ReadonlyMap<string, Timing>): string[][] {
  return [...timings].map(([name, { ms, ratio }]) => [
    name,
    size,
    showSpread(ms, ms.median < 0.1 ? 4 : 2),
    showSpread(ratio),
  ]);
}

export const TIMING_HEAD = ["", "size", "ms", "ratio"];

/** The figure of a measurement for `bench/all`: krt beside what was written by hand. */
export function recordTimings(
  name: string,
  size: number,
  of: string,
  timings: ReadonlyMap<string, Timing>,
  target?: number,
): void {
  const [ours, byHand] = ["krt", "hand-written"].map((subject) => timings.get(subject)?.ms);
  if (ours === undefined || byHand === undefined || Number.isNaN(size)) return;
  recordFigure({
    name: `krt: ${name}`,
    unit: "ms",
    size,
    of,
    ...(target !== undefined && { target }),
    ours: { subject: "krt", middle: ours.median, least: ours.low, most: ours.high },
    baseline: { subject: "by hand", middle: byHand.median, least: byHand.low, most: byHand.high },
  });
}

/** Prints a target beside its figure. */
export function target(id: string, text: string, met: boolean): void {
  console.log(`\nTarget: ${text}: ${met ? "met" : "MISSED"}`);
  if (!met) missed.push(`${id}: ${text}`);
}

/** The targets that were missed so far. */
export function missedTargets(): readonly string[] {
  return missed;
}
