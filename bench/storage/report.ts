import { recordFigure } from "@stackwright-bench/figures";
import type { Result } from "./measure.ts";

/** Prints a Markdown table with padded columns. */
export function printTable(
  title: string,
  header: readonly string[],
  rows: readonly string[][],
): void {
  const table = [header, ...rows];
  const widths = header.map((_, column) =>
    Math.max(...table.map((row) => (row[column] ?? "").length), 3),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |`;
  console.log(`\n${title}\n`);
  console.log(line(header));
  console.log(line(widths.map((width) => "-".repeat(width))));
  for (const row of rows) console.log(line(row));
}

/** Prints rates, latencies, and their ratios to the first row (above 1 is better than it). */
export function printResults(title: string, results: readonly Result[]): void {
  const [base] = results;
  for (const { name, p50 } of results) {
    if (base === undefined || name === base.name) continue;
    recordFigure({
      name: `store: ${title}: ${name}`,
      unit: "ms",
      size: 1,
      of: "operation",
      ours: { subject: name, middle: p50 },
      baseline: { subject: base.name, middle: base.p50 },
    });
  }
  printTable(
    title,
    ["what", "per second", "min-max", "p50 ms", "p99 ms", "rate", "1 / p50"],
    results.map((result) => [
      result.name,
      whole(result.perSecond),
      `${whole(result.spread[0])}-${whole(result.spread[1])}`,
      fine(result.p50),
      fine(result.p99),
      ratio(result.ratio),
      ratio(result.latencyRatio),
    ]),
  );
}

function ratio(value: number | undefined): string {
  return value === undefined ? "" : `${value.toFixed(2)}x`;
}

/** A number without decimals, with separators. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** A number of milliseconds. */
export function fine(value: number): string {
  return value.toFixed(value < 1 ? 3 : 2);
}
