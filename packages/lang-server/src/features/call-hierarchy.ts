import { basename, dirname, isAbsolute, relative } from "node:path";
import {
  type CallHierarchyIncomingCall,
  type CallHierarchyItem,
  type CallHierarchyOutgoingCall,
  SymbolKind,
} from "vscode-languageserver-protocol";
import { findPlace } from "../document/find-place.ts";
import { Lines, uriOf } from "../document/locate.ts";
import type { Span } from "../index/symbol.ts";
import { fileKind, type Workspace } from "../index/workspace.ts";

// Modules call modules. The places of a call are in the file of its caller, and a module has many files: an item stands for a module and one of
// its files, and calls of the others are those of other items of the same module.

/** What is looked at. */
interface CallWorld {
  readonly workspace: Workspace;
  /** The folders that are open, absolute: modules have their names from there. */
  readonly roots: readonly string[];
}

/** The module that the call at an offset is of, or else the one of the file. */
export function prepareCalls(
  world: CallWorld,
  path: string,
  offset: number,
): readonly CallHierarchyItem[] {
  const { workspace } = world;
  const names = workspace.names(path);
  if (names === undefined) return [];
  const { blocks, header } = findPlace(names, offset);
  const block = blocks[0] ?? header?.block;
  const name = block?.type === "module" ? block.labels[0]?.value : undefined;
  const called = name === undefined ? undefined : workspace.calledFolder(dirname(path), name);
  return called === undefined ? [itemOf(world, path)] : itemsOf(world, called);
}

/** Which modules of the workspace call the one of a file, and where. */
export function incomingCalls(world: CallWorld, path: string): CallHierarchyIncomingCall[] {
  const { workspace } = world;
  const folder = dirname(path);
  return workspace.callersOf(folder).flatMap((caller) =>
    filesOf(workspace, caller).flatMap((file) => {
      const calls = callsIn(workspace, file).filter(({ called }) => called === folder);
      if (calls.length === 0) return [];
      const fromRanges = rangesOf(workspace, file, calls);
      return [{ from: itemOf(world, file), fromRanges }];
    }),
  );
}

/** Which modules a file calls that are on the disk, and where. */
export function outgoingCalls(world: CallWorld, path: string): CallHierarchyOutgoingCall[] {
  const { workspace } = world;
  const calls = callsIn(workspace, path);
  return [...new Set(calls.map(({ called }) => called))].flatMap((folder) => {
    const own = calls.filter(({ called }) => called === folder);
    const fromRanges = rangesOf(workspace, path, own);
    return itemsOf(world, folder).map((to) => ({ to, fromRanges }));
  });
}

interface ModuleCall {
  readonly called: string;
  /** Of its header. */
  readonly span: Span;
}

function callsIn(workspace: Workspace, path: string): readonly ModuleCall[] {
  const names = fileKind(path)?.role === "configuration" ? workspace.names(path) : undefined;
  if (names === undefined) return [];
  return names.body.items.flatMap((item) => {
    if (item.kind !== "block" || item.type !== "module") return [];
    const [label] = item.labels;
    const called = label && workspace.calledFolder(dirname(path), label.value);
    if (called === undefined || filesOf(workspace, called).length === 0) return [];
    return [{ called, span: { start: item.start, end: item.headerEnd } }];
  });
}

function filesOf(workspace: Workspace, folder: string): readonly string[] {
  return workspace.namedFilesOf(folder).filter((path) => fileKind(path)?.role === "configuration");
}

/** The files of a module that call others, or else its first one. */
function itemsOf(world: CallWorld, folder: string): readonly CallHierarchyItem[] {
  const { workspace } = world;
  const files = filesOf(workspace, folder);
  const calling = files.filter((path) => callsIn(workspace, path).length > 0);
  const main = files.find((path) => basename(path).startsWith("main.")) ?? files[0];
  const shown = calling.length > 0 || main === undefined ? calling : [main];
  return shown.map((path) => itemOf(world, path));
}

function itemOf({ workspace, roots }: CallWorld, path: string): CallHierarchyItem {
  const text = workspace.text(path) ?? "";
  const lines = new Lines(text);
  const folder = dirname(path);
  const ways = roots.map((root) => relative(root, folder));
  const way = ways.find((each) => !each.startsWith("..") && !isAbsolute(each));
  return {
    name: way || basename(folder),
    detail: basename(path),
    kind: SymbolKind.Module,
    uri: uriOf(path),
    range: lines.range({ start: 0, end: text.length }),
    selectionRange: lines.range({ start: 0, end: 0 }),
  };
}

function rangesOf(workspace: Workspace, path: string, calls: readonly ModuleCall[]) {
  const lines = new Lines(workspace.text(path) ?? "");
  return calls.map(({ span }) => lines.range(span));
}
