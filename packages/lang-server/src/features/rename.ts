import { basename, isAbsolute, relative } from "node:path";
import { isIdentifier } from "@stackwright/lang";
import type { Range, TextEdit, WorkspaceEdit } from "vscode-languageserver-protocol";
import { Lines, uriOf } from "../document/locate.ts";
import { type ModuleSymbol, shortName, symbolText } from "../index/symbol.ts";
import type { PlacedOccurrence, Workspace } from "../index/workspace.ts";

/** Why something cannot be renamed; the client shows the message. */
export class RenameRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RenameRefused";
  }
}

/** What is to be renamed: the text that is there, and where. */
export function prepareRename(
  workspace: Workspace,
  path: string,
  offset: number,
): { readonly range: Range; readonly placeholder: string } {
  const { span } = renamed(workspace, path, offset);
  const text = workspace.text(path) ?? "";
  return {
    range: new Lines(text).range(span),
    placeholder: text.slice(span.start, span.end),
  };
}

/**
 * The edits that give a symbol another name in all modules of the workspace. A resource or a module gets a `moved` block, so that
 * its objects stay what they are.
 *
 * @throws RenameRefused
 */
export function rename(
  workspace: Workspace,
  roots: readonly string[],
  path: string,
  offset: number,
  newName: string,
): WorkspaceEdit {
  const found = renamed(workspace, path, offset);
  const { symbol, folder } = found;
  if (!isIdentifier(newName)) {
    throw new RenameRefused(
      `"${newName}" is not a valid name: names have letters, digits, "_" and "-", and begin with a letter or "_".`,
    );
  }
  const target = withName(symbol, newName);
  if (target.name === symbol.name) return { changes: {} };
  const [taken] = workspace.find(folder, target);
  if (taken !== undefined) {
    throw new RenameRefused(
      `The module has ${symbolText(target)} already, in ${relative(folder, taken.path)}.`,
    );
  }
  const declarations = workspace.find(folder, symbol);
  const [declaration] = declarations;
  if (declaration === undefined) {
    throw new RenameRefused(`${symbolText(symbol)} is not declared in the module.`);
  }
  for (const each of declarations) requireInside(roots, each.path, symbol);
  requireReadable(workspace, folder, symbol);
  const changes: Record<string, TextEdit[]> = {};
  for (const [file, places] of Map.groupBy(
    workspace.occurrences(folder, symbol),
    (each) => each.path,
  )) {
    requireInside(roots, file, symbol);
    const lines = new Lines(workspace.text(file) ?? "");
    changes[uriOf(file)] = places.map(({ span }) => ({
      range: lines.range(span),
      newText: newName,
    }));
  }
  if (isMoved(symbol)) {
    const text = workspace.text(declaration.path) ?? "";
    const end = { start: text.length, end: text.length };
    const edits = (changes[uriOf(declaration.path)] ??= []);
    const gap = text.endsWith("\n") ? "\n" : "\n\n";
    edits.push({
      range: new Lines(text).range(end),
      newText: `${gap}moved {\n  from = ${symbolText(symbol)}\n  to   = ${symbolText(target)}\n}\n`,
    });
  }
  return { changes };
}

function renamed(workspace: Workspace, path: string, offset: number): PlacedOccurrence {
  const found = workspace.occurrenceAt(path, offset);
  if (found === undefined) throw new RenameRefused("Nothing here has a name that can be changed.");
  const { symbol } = found;
  if (symbol.kind === "provider" && !symbol.name.includes(".")) {
    throw new RenameRefused(
      "The name of a provider is that of its entry in required_providers and the beginning of its types.",
    );
  }
  return found;
}

function withName(symbol: ModuleSymbol, newName: string): ModuleSymbol {
  const { kind, name } = symbol;
  if (kind !== "resource" && kind !== "provider") return { kind, name: newName };
  return { kind, name: `${name.slice(0, name.lastIndexOf(".") + 1)}${newName}` };
}

/** Whether objects would be destroyed and created anew without a word of where they went. */
function isMoved({ kind, name }: ModuleSymbol): boolean {
  return kind === "module" || (kind === "resource" && !/^(?:data|ephemeral)\./.test(name));
}

function requireInside(roots: readonly string[], path: string, symbol: ModuleSymbol): void {
  const inside = roots.some((root) => {
    const way = relative(root, path);
    return way !== "" && !way.startsWith("..") && !isAbsolute(way);
  });
  if (inside || roots.length === 0) return;
  throw new RenameRefused(
    `${symbolText(symbol)} is also in ${path}, which is not in a folder that is open. Open the folder that has all its users.`,
  );
}

/** Files that are not indexed would keep the old name without a word. */
function requireReadable(workspace: Workspace, folder: string, symbol: ModuleSymbol): void {
  for (const path of workspace.otherFilesOf(folder)) {
    if (workspace.text(path)?.includes(shortName(symbol)) !== true) continue;
    throw new RenameRefused(
      `The file ${basename(path)} has "${shortName(symbol)}" as well, and files of its kind are not rewritten. Change the name there first.`,
    );
  }
}
