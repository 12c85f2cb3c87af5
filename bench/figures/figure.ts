import { appendFileSync, readFileSync } from "node:fs";

/** What one subject took. */
export interface Measured {
  readonly subject: string;
  readonly middle: number;
  /** Of the rounds; the same as `middle` where there was one. */
  readonly least?: number;
  readonly most?: number;
}

/** One point of a curve: ours beside the baseline that was measured in turns with it. */
export interface Figure {
  /** What is measured, as a heading: `no-op plan of null_resource, time`. */
  readonly name: string;
  readonly unit: string;
  /** How much of what: 1,000 instances. */
  readonly size: number;
  readonly of: string;
  readonly ours: Measured;
  readonly baseline: Measured;
  /** What `ours.middle / baseline.middle` is to be at most. */
  readonly target?: number;
}

/** The variable that names the file into which figures are written. */
export const FIGURES_FILE = "STACKWRIGHT_BENCH_FIGURES";

/**
 * Writes a figure where `bench/all` asked for it, as a line of JSON; does nothing in a benchmark that runs alone.
 * What a benchmark prints stays its own affair.
 */
export function recordFigure(figure: Figure): void {
  const path = process.env[FIGURES_FILE];
  if (path !== undefined) appendFileSync(path, `${JSON.stringify(figure)}\n`);
}

/** The figures of a file that benchmarks wrote, in their order. */
export function readFigures(path: string): readonly Figure[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Figure);
}
