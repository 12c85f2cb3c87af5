/** The value below which a share of the values is; 0 without values. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? 0;
}

/** Prints rows as a Markdown table. */
export function printFigures(title: string, rows: readonly (readonly string[])[]): void {
  const [head = [], ...rest] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  console.log(`\n${title}\n`);
  console.log(line(head));
  console.log(line(widths.map((width) => "-".repeat(width))));
  for (const row of rest) console.log(line(row));
}
