import type { FolderGraph } from "./folder-circles.ts";
import { ALLOWED_IMPORTS } from "./import-rules.ts";

/** The layers as text: what each package may import, the folders of its `src` with what they import, its circles. */
export function importTable(graphs: readonly FolderGraph[]): string {
  const lines = graphs.flatMap(({ folder, edges, circles }) => {
    const allowed = ALLOWED_IMPORTS[folder.replace(/^packages\//, "")];
    const imports = allowed === undefined ? "all packages" : allowed.join(", ") || "no package";
    return [
      `${folder} may import ${imports}; circles of folders: ${circles.length}`,
      ...[...edges]
        .toSorted(([left], [right]) => (left < right ? -1 : 1))
        .map(([from, targets]) => `  ${from} -> ${[...targets.keys()].toSorted().join(", ")}`),
    ];
  });
  const circles = graphs.reduce((sum, graph) => sum + graph.circles.length, 0);
  return `${[...lines, `circles of folders in all: ${circles}`].join("\n")}\n`;
}
