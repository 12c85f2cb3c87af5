import { dirname } from "node:path";
import type { Block } from "@stackwright/lang";
import { type CodeAction, CodeActionKind } from "vscode-languageserver-protocol";
import { itemLines } from "../document/item-span.ts";
import { uriOf } from "../document/locate.ts";
import type { FileIndex } from "../index/file-index.ts";
import { type ModuleSymbol, shortName, symbolText } from "../index/symbol.ts";
import { isOverride, type Workspace } from "../index/workspace.ts";
import { behind } from "./behind.ts";
import { formattedEdits, type SpanEdit } from "./formatted-edits.ts";
import { argumentOf, declaredObject, topBlockAt } from "./top-block.ts";
import { isNamedUnread } from "./unread-names.ts";

/**
 * Offers, at the header of a resource or a module call, the blocks that say where its objects come from or what becomes of them:
 * `import`, `moved`, and `removed` in the place of the block, which keeps the objects.
 */
export function stateBlocks(workspace: Workspace, path: string, offset: number): CodeAction[] {
  const found = topBlockAt(workspace, path, offset);
  if (found === undefined || found.attribute !== undefined) return [];
  const { index, block } = found;
  const symbol = declaredObject(block);
  if (symbol === undefined || block.type === "data" || isOverride(path)) return [];
  const lines = itemLines(index.file, block);
  if (lines === undefined) return [];
  const address = symbolText(symbol);
  const folder = dirname(path);
  const actions: CodeAction[] = [];
  const offer = (title: string, edit: SpanEdit): void => {
    const edits = formattedEdits(index.file, [edit]);
    if (edits === undefined) return;
    const changes = { [uriOf(path)]: edits };
    actions.push({ title, kind: CodeActionKind.RefactorRewrite, edit: { changes } });
  };
  const { text } = index.file.source;
  // Calls of a module may be many, and objects are imported where the run begins.
  if (block.type === "resource" && !isImported(workspace, folder, address)) {
    if (workspace.callersOf(folder).length === 0) {
      offer(`Add an import block for ${address}`, behind(text, lines, importBlock(block, address)));
    }
  }
  const former = symbolText(formerSymbol(workspace, folder, symbol));
  offer(
    `Add a moved block to ${address}`,
    behind(text, lines, `moved {\n  from = ${former}\n  to   = ${address}\n}\n`),
  );
  if (isNamedAlone(workspace, folder, symbol)) {
    const { start, end } = block;
    const newText = `removed {\n  from = ${address}\n\n  lifecycle {\n    destroy = false\n  }\n}`;
    offer(`Replace ${address} by a removed block that keeps its objects`, { start, end, newText });
  }
  return actions;
}

/** What is not known yet is empty: the id, or of a resource with keys the ids by key. */
function importBlock(block: Block, address: string): string {
  if (argumentOf(block, "for_each") !== undefined) {
    return `import {\n  for_each = {}\n  to = ${address}[each.key]\n  id = each.value\n}\n`;
  }
  const index = argumentOf(block, "count") === undefined ? "" : "[0]";
  return `import {\n  to = ${address}${index}\n  id = ""\n}\n`;
}

function isImported(workspace: Workspace, folder: string, address: string): boolean {
  return blocksOf(workspace, folder, "import").some(([{ file }, block]) => {
    const to = argumentOf(block, "to")?.expression;
    const text = to && file.source.text.slice(to.start, to.end);
    return text === address || text?.startsWith(`${address}[`) === true;
  });
}

function blocksOf(
  workspace: Workspace,
  folder: string,
  type: string,
): (readonly [FileIndex, Block])[] {
  return [...workspace.module(folder)].flatMap(([, index]) =>
    index.file.body.items.flatMap((item) =>
      item.kind === "block" && item.type === type ? [[index, item] as const] : [],
    ),
  );
}

/** A name to be replaced by the one that the objects had. */
function formerSymbol(workspace: Workspace, folder: string, symbol: ModuleSymbol): ModuleSymbol {
  const prefix = symbol.kind === "module" ? "" : symbol.name.slice(0, -shortName(symbol).length);
  const named = (number: number): ModuleSymbol => ({
    kind: symbol.kind,
    name: `${prefix}former${number === 1 ? "" : `_${number}`}`,
  });
  let number = 1;
  while (workspace.occurrences(folder, named(number)).length > 0) number += 1;
  return named(number);
}

/** Whether nothing else of the module says the name. */
function isNamedAlone(workspace: Workspace, folder: string, symbol: ModuleSymbol): boolean {
  const [declaration, ...others] = workspace.occurrences(folder, symbol);
  if (declaration?.declares !== true || others.length > 0) return false;
  return !isNamedUnread(workspace, folder, shortName(symbol));
}
