import { append } from "@stackwright/base/append";
import type { Block, BodyItem } from "@stackwright/lang";
import {
  type DocumentSymbol,
  type FoldingRange,
  FoldingRangeKind,
  type SelectionRange,
  SymbolKind,
  type WorkspaceSymbol,
} from "vscode-languageserver-protocol";
import { expressionsAt } from "../document/find-place.ts";
import { Lines, Locations } from "../document/locate.ts";
import type { FileNames } from "../index/file-index.ts";
import { type Span, symbolText } from "../index/symbol.ts";
import type { Workspace } from "../index/workspace.ts";

/** Most symbols of one answer. */
const MAX_SYMBOLS = 1000;

const KINDS: Readonly<Record<string, SymbolKind>> = {
  resource: SymbolKind.Class,
  data: SymbolKind.Struct,
  ephemeral: SymbolKind.Struct,
  module: SymbolKind.Module,
  variable: SymbolKind.Variable,
  output: SymbolKind.Interface,
  provider: SymbolKind.Package,
  locals: SymbolKind.Namespace,
  run: SymbolKind.Method,
};

/** The blocks of a file with what stands in them. */
export function documentSymbols({ source, body }: FileNames): DocumentSymbol[] {
  const lines = new Lines(source.text);
  const visit = (item: BodyItem): DocumentSymbol => {
    const range = lines.range(item);
    if (item.kind === "attribute") {
      const selectionRange = lines.range({ start: item.start, end: item.nameEnd });
      return { name: item.name, kind: SymbolKind.Property, range, selectionRange };
    }
    return {
      name: blockTitle(item),
      kind: KINDS[item.type] ?? SymbolKind.Object,
      range,
      selectionRange: lines.range({ start: item.start, end: item.headerEnd }),
      children: item.body.items.map(visit),
    };
  };
  return body.items.map(visit);
}

function blockTitle({ type, labels }: Block): string {
  return [type, ...labels.map(({ value }) => JSON.stringify(value))].join(" ");
}

/** What modules of the workspace declare whose name has the letters of a query, in their order. */
export function workspaceSymbols(workspace: Workspace, query: string): WorkspaceSymbol[] {
  const found: WorkspaceSymbol[] = [];
  const locations = new Locations((path) => workspace.text(path));
  for (const folder of workspace.folders()) {
    for (const { symbol, path, span } of workspace.declarations(folder)) {
      const name = symbolText(symbol);
      if (!hasLetters(name, query)) continue;
      const location = locations.of({ path, span });
      found.push({ name, kind: KINDS[symbol.kind] ?? SymbolKind.Variable, location });
      if (found.length >= MAX_SYMBOLS) return found;
    }
  }
  return found;
}

function hasLetters(name: string, query: string): boolean {
  let at = 0;
  const lower = name.toLowerCase();
  for (const letter of query.toLowerCase()) {
    at = lower.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

/** What can be folded: blocks, values over several lines, runs of comment lines. */
export function foldingRanges({ source, body }: FileNames): FoldingRange[] {
  const lines = new Lines(source.text);
  const found: FoldingRange[] = [];
  const fold = (span: Span): void => {
    const { start, end } = lines.range(span);
    if (end.line > start.line) found.push({ startLine: start.line, endLine: end.line - 1 });
  };
  const visit = (item: BodyItem): void => {
    if (item.kind === "block") {
      fold(item);
      for (const inner of item.body.items) visit(inner);
    } else {
      const { kind } = item.expression;
      if (kind === "object" || kind === "tuple" || kind === "call" || kind === "for") {
        fold(item.expression);
      }
    }
  };
  for (const item of body.items) visit(item);
  append(found, commentRanges(source.text));
  return found.filter(({ startLine, endLine }) => endLine > startLine);
}

function commentRanges(text: string): FoldingRange[] {
  const found: FoldingRange[] = [];
  const all = text.split("\n");
  let start = -1;
  for (const [line, content] of [...all, ""].entries()) {
    const isComment = /^\s*(?:#|\/\/)/.test(content);
    if (isComment && start === -1) start = line;
    if (isComment || start === -1) continue;
    found.push({ startLine: start, endLine: line - 1, kind: FoldingRangeKind.Comment });
    start = -1;
  }
  return found;
}

/** The pieces around an offset, from the smallest to the file. */
export function selectionRange({ source, body }: FileNames, offset: number): SelectionRange {
  const lines = new Lines(source.text);
  const spans: Span[] = [{ start: 0, end: source.text.length }];
  let items: readonly BodyItem[] = body.items;
  for (;;) {
    const item = items.find(({ start, end }) => start <= offset && offset <= end);
    if (item === undefined) break;
    spans.push(item);
    if (item.kind === "attribute") {
      if (offset <= item.nameEnd) spans.push({ start: item.start, end: item.nameEnd });
      else if (offset >= item.expression.start) {
        const around = expressionsAt(item.expression, offset);
        append(
          spans,
          around.map(({ source: own, start, end }) => ({
            start: own.fileOffset(start),
            end: own.fileOffset(end),
          })),
        );
      }
      break;
    }
    items = item.body.items;
  }
  let range: SelectionRange = { range: lines.range(spans[0] ?? { start: 0, end: 0 }) };
  for (const span of spans.slice(1)) range = { range: lines.range(span), parent: range };
  return range;
}
