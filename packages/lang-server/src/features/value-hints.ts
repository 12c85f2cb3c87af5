import { dirname } from "node:path";
import type { Attribute, Block, Expression } from "@stackwright/lang";
import type { InlayHint } from "vscode-languageserver-protocol";
import { InlayHintKind } from "vscode-languageserver-protocol";
import { findPlace } from "../document/find-place.ts";
import { Lines } from "../document/locate.ts";
import type { FileIndex } from "../index/file-index.ts";
import type { Span } from "../index/symbol.ts";
import type { PlacedDeclaration, Workspace } from "../index/workspace.ts";

/** Longer texts are cut in no hint: there is none. */
const MAX_CHARACTERS = 40;
const CONSTANTS: ReadonlySet<Expression["kind"]> = new Set(["string", "number", "boolean", "null"]);
/** Blocks that have instances. */
const REPEATED: ReadonlySet<string> = new Set(["resource", "data", "ephemeral", "module"]);

/**
 * What is written elsewhere, at the names that stand for it: the type of a variable behind a reference to it, the value of a local that is
 * a constant, and how many instances a block has whose `count` or `for_each` is one.
 */
export function valueHints(
  workspace: Workspace,
  path: string,
  index: FileIndex,
  range: Span,
): InlayHint[] {
  const lines = new Lines(index.file.source.text);
  const folder = dirname(path);
  const isShown = (at: number): boolean => at >= range.start && at <= range.end;
  const known = new Map<string, string | undefined>();
  const hints: InlayHint[] = [];
  for (const { symbol, calls, span, declares } of index.occurrences) {
    if (declares || calls !== undefined || !isShown(span.end)) continue;
    if (symbol.kind !== "variable" && symbol.kind !== "local") continue;
    const name = `${symbol.kind} ${symbol.name}`;
    if (!known.has(name)) {
      const [declaration, ...others] = workspace.find(folder, symbol);
      const isOne = declaration !== undefined && others.length === 0;
      known.set(name, isOne ? saidOf(workspace, declaration) : undefined);
    }
    const label = known.get(name);
    if (label === undefined) continue;
    const position = lines.range({ start: span.end, end: span.end }).end;
    hints.push({ position, label, kind: InlayHintKind.Type });
  }
  for (const item of index.file.body.items) {
    if (item.kind !== "block" || !REPEATED.has(item.type) || !isShown(item.headerEnd)) continue;
    const count = instanceCount(item);
    if (count === undefined) continue;
    const position = lines.range({ start: item.headerEnd, end: item.headerEnd }).end;
    hints.push({ position, label: `×${count}`, paddingLeft: true });
  }
  return hints;
}

/** `: string`, or `= 3`. */
function saidOf(workspace: Workspace, { path, symbol, whole }: PlacedDeclaration) {
  const index = workspace.index(path);
  if (index === undefined) return undefined;
  const { text } = index.file.source;
  if (symbol.kind === "variable") {
    const block = index.file.body.items.find((item) => item.start === whole.start);
    const type = block?.kind === "block" ? argumentOf(block, "type") : undefined;
    return type && shown(": ", text, type.expression);
  }
  const { attribute } = findPlace(index.file, whole.start);
  const isKnown = attribute !== undefined && isConstant(attribute.expression);
  return isKnown ? shown(" = ", text, attribute.expression) : undefined;
}

function shown(before: string, text: string, { start, end }: Span): string | undefined {
  const written = text.slice(start, end);
  return written.length > MAX_CHARACTERS || written.includes("\n")
    ? undefined
    : `${before}${written}`;
}

function isConstant(expression: Expression): boolean {
  if (expression.kind === "tuple") return expression.elements.every(isConstant);
  return CONSTANTS.has(expression.kind);
}

function instanceCount(block: Block): number | undefined {
  const count = argumentOf(block, "count")?.expression;
  if (count?.kind === "number") return Number(count.text);
  const each = argumentOf(block, "for_each")?.expression;
  if (each?.kind === "object") return each.items.length;
  if (each?.kind !== "call" || each.name !== "toset") return undefined;
  const [list] = each.arguments;
  if (list?.kind !== "tuple" || !list.elements.every(isConstant)) return undefined;
  const texts = list.elements.map((one) => (one.kind === "string" ? one.value : undefined));
  return texts.includes(undefined) ? undefined : new Set(texts).size;
}

function argumentOf(block: Block, name: string): Attribute | undefined {
  return block.body.items.find(
    (item): item is Attribute => item.kind === "attribute" && item.name === name,
  );
}
