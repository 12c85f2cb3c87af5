import { dirname, isAbsolute, relative } from "node:path";
import { append } from "@stackwright/base/append";
import { groupBy } from "@stackwright/base/group-by";
import { isIdentifier } from "@stackwright/lang";
import type { Range, TextEdit, WorkspaceEdit } from "vscode-languageserver-protocol";
import { Lines, uriOf } from "../document/locate.ts";
import { type ModuleSymbol, sameSymbol, shortName, symbolText } from "../index/symbol.ts";
import { fileKind, isOverride, type PlacedOccurrence, type Workspace } from "../index/workspace.ts";
import { appended } from "./appended.ts";
import { jsonMoved } from "./json-moved.ts";

/** What is between two names. */
const NO_NAME = /[^\p{ID_Continue}-]+/u;

/** What these say in the call of a module is for the call itself, so that a variable of that name could not be set. */
const OF_CALLS: ReadonlySet<string> = new Set([
  "source",
  "version",
  "providers",
  "count",
  "for_each",
  "lifecycle",
  "depends_on",
  "locals",
]);

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
  if (symbol.kind === "variable" && OF_CALLS.has(newName)) {
    throw new RenameRefused(
      `A variable cannot be "${newName}", which calls of modules have for themselves.`,
    );
  }
  const target = withName(symbol, newName);
  if (target.name === symbol.name) return { changes: {} };
  const [taken] = workspace.find(folder, target);
  if (taken !== undefined) {
    throw new RenameRefused(
      symbol.kind === "run"
        ? `The test has ${symbolText(target)} already.`
        : `The module has ${symbolText(target)} already, in ${relative(folder, taken.path)}.`,
    );
  }
  const declarations = workspace.find(folder, symbol);
  const [declaration] = declarations;
  if (declaration === undefined) {
    throw new RenameRefused(`${symbolText(symbol)} is not declared in the module.`);
  }
  for (const each of declarations) requireInside(roots, each.path, symbol);
  if (symbol.kind !== "run") requireReadable(workspace, folder, symbol);
  if (symbol.kind === "variable") requireOneMeaning(workspace, folder, symbol);
  if (symbol.kind === "output") requireKnownReaders(workspace, folder, symbol);
  const former = workspace.occurrences(folder, target).find(({ isHistory }) => isHistory);
  if (former !== undefined) {
    throw new RenameRefused(
      `A block in ${relative(folder, former.path)} says where objects of ${symbolText(target)} went. Remove it first, when it was applied everywhere.`,
    );
  }
  const changes: Record<string, TextEdit[]> = {};
  for (const [file, places] of groupBy(
    // Moves that were made before are still those of the old name; the new one follows them.
    workspace.occurrences(folder, symbol).filter(({ isHistory }) => isHistory !== true),
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
    // What overrides other blocks has no moves.
    const { path: place } = declarations.find((each) => !isOverride(each.path)) ?? declaration;
    const edits = (changes[uriOf(place)] ??= []);
    append(edits, movedBlock(workspace, place, symbolText(symbol), symbolText(target)));
  }
  return { changes };
}

function movedBlock(workspace: Workspace, path: string, from: string, to: string): TextEdit[] {
  const json = workspace.names(path)?.json;
  if (json !== undefined) return jsonMoved(json, from, to);
  const block = `moved {\n  from = ${from}\n  to   = ${to}\n}\n`;
  return [appended(workspace.text(path), block)];
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

/** Files of which not all names are known would keep the old name without a word. */
function requireReadable(workspace: Workspace, folder: string, symbol: ModuleSymbol): void {
  const crossesModules = symbol.kind === "variable" || symbol.kind === "output";
  const places = new Set([folder, ...(crossesModules ? usersOf(workspace, folder, symbol) : [])]);
  const tests = workspace.tests().filter((path) => workspace.modulesOfTest(path).includes(folder));
  for (const path of tests) places.add(dirname(path));
  const name = shortName(symbol);
  const isWritten = (text: string): boolean =>
    text.split(NO_NAME).some((word) => word === name) ||
    (!isIdentifier(name) && text.includes(name));
  const unread = [...places].flatMap((place) => workspace.unreadFilesOf(place));
  // Which configurations of providers tests mean is for each run to say.
  if (symbol.kind === "provider") append(unread, tests);
  for (const path of unread) {
    const text = workspace.text(path);
    if (text !== undefined && !isWritten(text)) continue;
    const isBroken = fileKind(path)?.isJson === true;
    throw new RenameRefused(
      text === undefined
        ? `The file ${relative(folder, path)} is too large to be searched for "${name}".`
        : `The file ${relative(folder, path)} has "${name}" as well, and ${isBroken ? "cannot be read as a whole" : "files of its kind are not rewritten"}. Change the name there first.`,
    );
  }
}

/** A test sets a variable for all modules that it is about: with one name less, one of them would have no value. */
function requireOneMeaning(workspace: Workspace, folder: string, symbol: ModuleSymbol): void {
  for (const path of workspace.tests()) {
    const isShared = workspace
      .names(path)
      ?.occurrences.some((each) => each.isShared === true && sameSymbol(each.symbol, symbol));
    if (isShared !== true) continue;
    const modules = workspace.modulesOfTest(path);
    const others = modules.filter(
      (each) => each !== folder && workspace.find(each, symbol).length > 0,
    );
    const [other] = others;
    if (!modules.includes(folder) || other === undefined) continue;
    throw new RenameRefused(
      `The test ${relative(folder, path)} sets "${symbol.name}" for the module in ${relative(folder, other)} as well. Set it in the runs instead.`,
    );
  }
}

/** Where all outputs of a call are passed on, one of them may be read by its name anywhere. */
function requireKnownReaders(workspace: Workspace, folder: string, symbol: ModuleSymbol): void {
  for (const caller of workspace.callersOf(folder)) {
    for (const [path, { wholes }] of workspace.namesOf(caller)) {
      for (const call of wholes) {
        if (workspace.calledFolder(caller, call) !== folder) continue;
        throw new RenameRefused(
          `The file ${relative(folder, path)} passes on all outputs of module.${call}, and "${symbol.name}" may be read of those. Pass on what is needed alone first.`,
        );
      }
    }
  }
}

/** The folders in which the names of a module are used from outside of it. */
function usersOf(workspace: Workspace, folder: string, symbol: ModuleSymbol): string[] {
  const { folders, isComplete } = workspace.survey();
  if (!isComplete) {
    throw new RenameRefused(
      `The open folders have more files than are searched, and ${symbolText(symbol)} may be used in any. Open a smaller folder that has all its users.`,
    );
  }
  if (symbol.kind !== "variable") return workspace.callersOf(folder);
  const values = folders
    .filter((each) => each !== folder)
    .flatMap((each) => {
      return workspace.namedFilesOf(each).filter((path) => fileKind(path)?.role === "values");
    });
  const owned = values.filter((path) => {
    const owner = workspace.ownerOfValues(path);
    const sets = workspace
      .names(path)
      ?.occurrences.some((each) => each.symbol.name === symbol.name);
    if (owner === undefined && sets === true) {
      throw new RenameRefused(
        `The file ${relative(folder, path)} sets "${symbol.name}", and its place does not say for which module. Change the name there first.`,
      );
    }
    return owner === folder;
  });
  return [...workspace.callersOf(folder), ...owned.map((path) => dirname(path))];
}
