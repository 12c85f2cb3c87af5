import { dirname } from "node:path";

/** What became of one mutant. */
export interface MutantResult {
  readonly id: string;
  readonly path: string;
  readonly kind: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
  /** `failed` and `late` are noticed; `not called`: no unit test calls the function. */
  readonly outcome: "failed" | "late" | "survived" | "not called";
}

/** A score for each target and folder, the lowest one of a target, and the survivors without a reason. */
export function renderReport(
  targets: readonly { readonly name: string; readonly results: readonly MutantResult[] }[],
  equivalents: Readonly<Record<string, string>>,
): { text: string; lowest: number } {
  const rows = [["target", "folder", "changes", "noticed", "without effect", "survived", "score"]];
  const lines: string[] = [];
  let lowest = 100;
  for (const { name, results } of targets) {
    lowest = Math.min(lowest, scoreOf(results, equivalents));
    const folders = Map.groupBy(results, ({ path }) => dirname(path));
    for (const [folder, found] of [...folders].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const noticed = found.filter(isNoticed).length;
      const open = found.filter((result) => !isNoticed(result));
      const survivors = open.filter(({ id }) => equivalents[id] === undefined);
      rows.push([
        name,
        `\`${folder}\``,
        `${found.length}`,
        `${noticed}`,
        `${open.length - survivors.length}`,
        `${survivors.length}`,
        `${Math.round(scoreOf(found, equivalents))} %`,
      ]);
      for (const { id, path, line, kind, before, after, outcome } of survivors) {
        lines.push(
          `- ${id} \`${path}:${line}\` ${kind}, ${outcome}`,
          `  - \`${before}\``,
          `  - \`${after}\``,
        );
      }
    }
  }
  return {
    text: [...tableOf(rows), "", "Survivors:", "", ...lines, ""].join("\n"),
    lowest,
  };
}

/** Of 100 changes with an effect, how many are noticed. */
function scoreOf(
  results: readonly MutantResult[],
  equivalents: Readonly<Record<string, string>>,
): number {
  const judged = results.filter(
    (result) => isNoticed(result) || equivalents[result.id] === undefined,
  );
  return judged.length === 0 ? 100 : (judged.filter(isNoticed).length / judged.length) * 100;
}

function isNoticed({ outcome }: MutantResult): boolean {
  return outcome === "failed" || outcome === "late";
}

/** A Markdown table as the formatter of the repository leaves it. */
function tableOf([head = [], ...rows]: readonly (readonly string[])[]): string[] {
  const widths = head.map((cell, i) =>
    Math.max(cell.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)];
}
