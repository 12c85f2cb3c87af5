import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../../..");

/** The text of a page of the documentation, by its path from the root of the repository. */
export function pageText(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

/**
 * The rows of the table of a page whose first column has a heading, each as its cells.
 *
 * @param text The page.
 * @param heading The first cell of the first row, such as `Command`.
 * @param nth Which of the tables with this heading, the first one as 0.
 */
export function tableRows(text: string, heading: string, nth = 0): readonly (readonly string[])[] {
  const tables = text
    .split(/\n(?!\|)/)
    .map((part) => part.split("\n").filter((line) => line.startsWith("|")))
    .filter(([first = ""]) => cellsOf(first)[0] === heading);
  const [, , ...rows] = tables[nth] ?? [];
  if (rows.length === 0) throw new Error(`the page has no table "${heading}"`);
  return rows.map(cellsOf);
}

function cellsOf(row: string): readonly string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}
