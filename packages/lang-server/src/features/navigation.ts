import { isAbsolute, join } from "node:path";
import { parseModuleSource } from "@stackwright/lang";
import type { DocumentHighlight, DocumentLink, Location } from "vscode-languageserver-protocol";
import { DocumentHighlightKind } from "vscode-languageserver-protocol";
import { Lines, Locations, uriOf } from "../document/locate.ts";
import { textOf } from "../index/text-of.ts";
import type { Workspace } from "../index/workspace.ts";

/** Where the symbol at an offset is declared. */
export function definition(workspace: Workspace, path: string, offset: number): Location[] {
  const found = workspace.occurrenceAt(path, offset);
  if (found === undefined) return [];
  const locations = new Locations((each) => workspace.text(each));
  return workspace.find(found.folder, found.symbol).map((each) => locations.of(each));
}

/** All places of the symbol at an offset, in all modules of the workspace. */
export function references(
  workspace: Workspace,
  path: string,
  offset: number,
  includeDeclaration: boolean,
): Location[] {
  const found = workspace.occurrenceAt(path, offset);
  if (found === undefined) return [];
  const locations = new Locations((each) => workspace.text(each));
  return workspace
    .occurrences(found.folder, found.symbol)
    .filter(({ declares }) => includeDeclaration || !declares)
    .map((each) => locations.of(each));
}

/** The places of the symbol at an offset in the same file. */
export function highlights(
  workspace: Workspace,
  path: string,
  offset: number,
): DocumentHighlight[] {
  const found = workspace.occurrenceAt(path, offset);
  if (found === undefined) return [];
  const lines = new Lines(workspace.text(path) ?? "");
  return workspace.occurrencesIn(path, found.folder, found.symbol).map(({ span, declares }) => ({
    range: lines.range(span),
    kind: declares ? DocumentHighlightKind.Write : DocumentHighlightKind.Read,
  }));
}

/** The folders of the local modules that a file calls, at the text of their sources. */
export function documentLinks(workspace: Workspace, path: string, folder: string): DocumentLink[] {
  const names = workspace.names(path);
  if (names === undefined) return [];
  const lines = new Lines(names.source.text);
  const links: DocumentLink[] = [];
  for (const block of names.body.items) {
    if (block.kind !== "block" || block.type !== "module") continue;
    for (const item of block.body.items) {
      if (item.kind !== "attribute" || item.name !== "source") continue;
      const { expression } = item;
      const source = textOf(expression);
      const target = source === undefined ? undefined : localFolder(source, folder);
      const first = target === undefined ? undefined : workspace.namedFilesOf(target)[0];
      if (first === undefined) continue;
      const span = { start: expression.start + 1, end: expression.end - 1 };
      links.push({ range: lines.range(span), target: uriOf(first) });
    }
  }
  return links;
}

function localFolder(source: string, folder: string): string | undefined {
  try {
    const parsed = parseModuleSource(source);
    if (parsed.kind !== "local") return undefined;
    return isAbsolute(parsed.path) ? parsed.path : join(folder, parsed.path);
  } catch {
    return undefined;
  }
}
