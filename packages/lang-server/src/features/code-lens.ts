import type { CodeLens } from "vscode-languageserver-protocol";
import { Lines } from "../document/locate.ts";
import type { Workspace } from "../index/workspace.ts";

/** Where the references of what a file declares can be shown: how many there are is found out by {@link countReferences}. */
export function codeLenses(workspace: Workspace, path: string, uri: string): CodeLens[] {
  const names = workspace.names(path);
  if (names === undefined) return [];
  const lines = new Lines(names.source.text);
  return names.declarations.map(({ span }) => {
    const range = lines.range(span);
    return { range, data: { uri, position: range.start } };
  });
}

/** The lens with the number of its references, and the command of the client that shows them. */
export function countReferences(
  workspace: Workspace,
  path: string,
  lens: CodeLens,
  command: string,
): CodeLens {
  const { start } = lens.range;
  const offset = new Lines(workspace.text(path) ?? "").offset(start);
  const found = workspace.occurrenceAt(path, offset);
  const all = found === undefined ? [] : workspace.occurrences(found.folder, found.symbol);
  const count = all.filter(({ declares }) => !declares).length;
  return {
    ...lens,
    command: {
      title: count === 1 ? "1 reference" : `${count} references`,
      command,
      arguments: [start, { includeDeclaration: false }],
    },
  };
}
