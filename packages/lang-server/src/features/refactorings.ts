import { dirname, join } from "node:path";
import {
  type Block,
  childExpressions,
  type Expression,
  expressionCalls,
  expressionReferences,
} from "@stackwright/lang";
import { type CodeAction, CodeActionKind, type TextEdit } from "vscode-languageserver-protocol";
import { expressionsAt, findPlace } from "../document/find-place.ts";
import { Lines, uriOf } from "../document/locate.ts";
import type { FileIndex } from "../index/file-index.ts";
import type { Span } from "../index/symbol.ts";
import type { PlacedOccurrence, Workspace } from "../index/workspace.ts";
import { appended } from "./appended.ts";

/** Blocks whose arguments are expressions that may refer to locals and variables. */
const OF_EXPRESSIONS: ReadonlySet<string> = new Set([
  "resource",
  "data",
  "ephemeral",
  "module",
  "output",
  "locals",
  "provider",
  "check",
]);

const OF_RESOURCES: ReadonlySet<string> = new Set(["provider", "depends_on"]);
/** By the block that they are in: arguments that are read as they are written, without an evaluation, such as `when = destroy`. */
const READ_AS_WRITTEN: Readonly<Record<string, ReadonlySet<string>>> = {
  resource: OF_RESOURCES,
  data: OF_RESOURCES,
  ephemeral: OF_RESOURCES,
  module: new Set(["source", "version", "providers", "depends_on"]),
  provider: new Set(["alias", "version"]),
  output: new Set(["depends_on", "description", "sensitive", "ephemeral", "deprecated", "type"]),
  lifecycle: new Set([
    "create_before_destroy",
    "prevent_destroy",
    "destroy",
    "ignore_changes",
    "replace_triggered_by",
  ]),
  provisioner: new Set(["when", "on_failure"]),
  dynamic: new Set(["iterator"]),
};

/** Roots that mean something where they are written alone. */
const OF_PLACE: ReadonlySet<string> = new Set(["each", "count", "self"]);

const TYPES: Readonly<Partial<Record<Expression["kind"], string>>> = {
  string: "string",
  number: "number",
  boolean: "bool",
};

/**
 * Offers to give the selected expression a name: as a local value, or, of a constant, as a variable with it as the default. None where
 * the selection is no whole expression, or means something at its place alone.
 */
export function extractions(workspace: Workspace, path: string, selected: Span): CodeAction[] {
  const index = workspace.index(path);
  if (index === undefined) return [];
  const found = selectedExpression(index, selected);
  if (found === undefined) return [];
  const { expression, name: wanted, owner } = found;
  const { text } = index.file.source;
  const written = text.slice(expression.start, expression.end);
  const lines = new Lines(text);
  const replaced = (newText: string): TextEdit => ({ range: lines.range(expression), newText });
  const folder = dirname(path);
  const actions: CodeAction[] = [];
  const local = unusedName(workspace, folder, "local", wanted);
  actions.push({
    title: `Extract to local.${local}`,
    kind: CodeActionKind.RefactorExtract,
    edit: {
      changes: {
        [uriOf(path)]: [replaced(`local.${local}`), declaredLocal(index, owner, local, written)],
      },
    },
  });
  if (isConstant(expression)) {
    const variable = unusedName(workspace, folder, "variable", wanted);
    const beside = join(folder, "variables.tf");
    const file = workspace.text(beside) === undefined ? path : beside;
    const type = TYPES[expression.kind];
    const typeLine = type === undefined ? "" : `  type    = ${type}\n`;
    const block = `variable "${variable}" {\n${typeLine}  default = ${written}\n}\n`;
    const declared = appended(workspace.text(file), block);
    const use = replaced(`var.${variable}`);
    actions.push({
      title: `Extract to var.${variable}`,
      kind: CodeActionKind.RefactorExtract,
      edit: {
        changes:
          file === path
            ? { [uriOf(path)]: [use, declared] }
            : { [uriOf(path)]: [use], [uriOf(file)]: [declared] },
      },
    });
  }
  return actions;
}

/**
 * Offers to write the expression of the local value at an offset where the value is used, and to remove it. None where a file that is
 * not indexed may use it, or a name in the expression means something else at a use.
 */
export function inlining(workspace: Workspace, path: string, offset: number): CodeAction[] {
  const at = workspace.occurrenceAt(path, nameOffset(workspace, path, offset));
  if (at?.symbol.kind !== "local") return [];
  const { symbol, folder } = at;
  const declarations = workspace.find(folder, symbol);
  const [declaration] = declarations;
  if (declaration === undefined || declarations.length > 1) return [];
  const index = workspace.index(declaration.path);
  if (index === undefined || workspace.otherFilesOf(folder).length > 0) return [];
  const declared = findPlace(index.file, declaration.span.start).attribute;
  if (declared === undefined || !isMovable(index, declared.expression)) return [];
  const { expression } = declared;
  const { text } = index.file.source;
  const written = text.slice(expression.start, expression.end);
  const changes: Record<string, TextEdit[]> = {};
  const add = (file: string, edit: TextEdit): void => void (changes[uriOf(file)] ??= []).push(edit);
  for (const use of workspace.occurrences(folder, symbol)) {
    if (use.declares) continue;
    // One that is made of itself has an error, and no place to go to.
    const isOwn = use.path === declaration.path && isWithin(use.span, declaration.whole);
    const edit = isOwn ? undefined : inlined(workspace, use, { expression, written });
    if (edit === undefined) return [];
    add(use.path, edit);
  }
  add(declaration.path, removedLine(text, declaration.whole));
  return [
    {
      title: `Inline local.${symbol.name}`,
      kind: CodeActionKind.RefactorInline,
      edit: { changes },
    },
  ];
}

function isWithin({ start, end }: Span, around: Span): boolean {
  return start >= around.start && end <= around.end;
}

/** Of a reference to a local, where its name is. */
function nameOffset(workspace: Workspace, path: string, offset: number): number {
  const index = workspace.index(path);
  const attribute = index && findPlace(index.file, offset).attribute;
  const at = attribute && expressionsAt(attribute.expression, offset).at(-1);
  if (at?.kind !== "scope-traversal" || at.root !== "local" || offset > at.rootEnd) return offset;
  return at.steps[0]?.end ?? offset;
}

interface Selected {
  readonly expression: Expression;
  /** A name for it: that of the argument. */
  readonly name: string;
  /** The outermost block around it. */
  readonly owner: Block;
}

function selectedExpression(index: FileIndex, { start, end }: Span): Selected | undefined {
  const { text } = index.file.source;
  const written = text.slice(start, end);
  const from = start + (written.length - written.trimStart().length);
  const to = end - (written.length - written.trimEnd().length);
  if (to <= from) return undefined;
  const { blocks, attribute } = findPlace(index.file, from);
  const [owner] = blocks;
  if (owner === undefined || attribute === undefined || !OF_EXPRESSIONS.has(owner.type)) {
    return undefined;
  }
  if (READ_AS_WRITTEN[blocks.at(-1)?.type ?? ""]?.has(attribute.name) === true) return undefined;
  const chain = expressionsAt(attribute.expression, from);
  const at = chain.findIndex((each) => each.start === from && each.end === to);
  const expression = chain[at];
  if (expression === undefined || !isMovable(index, expression)) return undefined;
  const around = chain.slice(0, at);
  const iterators = new Set([...namesOfBlocks(blocks), ...around.flatMap(namesOfLoop)]);
  for (const { root } of expressionReferences(expression)) {
    if (OF_PLACE.has(root) || iterators.has(root)) return undefined;
  }
  const parent = around.at(-1);
  // The text between the sequences of a template has no quotes.
  if (parent?.kind === "template" && expression.kind === "string") return undefined;
  // What a splat does with its items is a part of it.
  if (around.some(({ kind }) => kind === "splat" || kind === "relative-traversal"))
    return undefined;
  return { expression, name: attribute.name, owner };
}

/** Whether the text of an expression means the same on another line of the module. */
function isMovable({ file }: FileIndex, expression: Expression): boolean {
  if (hasInvalid(expression) || expression.source !== file.source) return false;
  return !file.source.text.slice(expression.start, expression.end).includes("<<");
}

function hasInvalid(expression: Expression): boolean {
  if (expression.kind === "invalid" || expression.kind === "splat-item") return true;
  return [...childExpressions(expression)].some(
    (child) => child.kind !== "splat-item" && hasInvalid(child),
  );
}

function namesOfLoop(expression: Expression): string[] {
  if (expression.kind !== "for") return [];
  const { keyName, valueName } = expression;
  return keyName === undefined ? [valueName] : [keyName, valueName];
}

/** The iterators of `dynamic` blocks. */
function namesOfBlocks(blocks: readonly Block[]): string[] {
  return blocks.flatMap(({ type, labels, body }) => {
    if (type !== "dynamic") return [];
    const names = labels.map(({ value }) => value);
    for (const item of body.items) {
      if (item.kind !== "attribute" || item.name !== "iterator") continue;
      if (item.expression.kind === "scope-traversal") names.push(item.expression.root);
    }
    return names;
  });
}

/** Whether it may be the default of a variable. */
function isConstant(expression: Expression): boolean {
  return expressionReferences(expression).length === 0 && expressionCalls(expression).length === 0;
}

function unusedName(
  workspace: Workspace,
  folder: string,
  kind: "local" | "variable",
  wanted: string,
): string {
  const isTaken = (name: string): boolean => workspace.find(folder, { kind, name }).length > 0;
  let name = wanted;
  for (let number = 2; isTaken(name); number += 1) name = `${wanted}_${number}`;
  return name;
}

/** At the end of the block of locals of the file that has lines, or in one before the block that uses it. */
function declaredLocal({ file }: FileIndex, owner: Block, name: string, written: string): TextEdit {
  const { text } = file.source;
  const lines = new Lines(text);
  for (const item of file.body.items) {
    if (item.kind !== "block" || item.type !== "locals" || item === owner) continue;
    const close = item.end - 1;
    const lineStart = text.lastIndexOf("\n", close) + 1;
    if (text[close] !== "}" || !/^\s*$/.test(text.slice(lineStart, close))) continue;
    const range = lines.range({ start: lineStart, end: lineStart });
    return { range, newText: `  ${name} = ${written}\n` };
  }
  // Comments above a block are about it.
  let start = text.lastIndexOf("\n", owner.start - 1) + 1;
  for (;;) {
    const before = text.lastIndexOf("\n", start - 2) + 1;
    if (start === 0 || !/^\s*(?:#|\/\/)/.test(text.slice(before, start))) break;
    start = before;
  }
  const range = lines.range({ start, end: start });
  return { range, newText: `locals {\n  ${name} = ${written}\n}\n\n` };
}

interface Inlined {
  readonly expression: Expression;
  readonly written: string;
}

/** The edit of one use; none where it cannot be inlined there. */
function inlined(
  workspace: Workspace,
  use: PlacedOccurrence,
  { expression, written }: Inlined,
): TextEdit | undefined {
  const index = workspace.index(use.path);
  const { blocks, attribute } = index ? findPlace(index.file, use.span.start) : { blocks: [] };
  if (index === undefined || attribute === undefined) return undefined;
  const chain = expressionsAt(attribute.expression, use.span.start);
  const traversal = chain.at(-1);
  if (traversal?.kind !== "scope-traversal" || traversal.root !== "local") return undefined;
  const hidden = new Set([...namesOfBlocks(blocks), ...chain.flatMap(namesOfLoop)]);
  for (const { root } of expressionReferences(expression)) {
    if (hidden.has(root)) return undefined;
  }
  const end = use.span.end;
  const hasSteps = traversal.end > end;
  const isAlone = chain.at(-2) === undefined || isEnclosing(chain.at(-2));
  const kept = hasSteps
    ? isPrimary(expression)
    : isAlone || isPrimary(expression) || isClosed(expression);
  return {
    range: new Lines(index.file.source.text).range({ start: traversal.start, end }),
    newText: kept ? written : `(${written})`,
  };
}

/** Around what may be any expression without parentheses. */
function isEnclosing(expression: Expression | undefined): boolean {
  const kind = expression?.kind;
  return kind === "parentheses" || kind === "call" || kind === "tuple" || kind === "template-wrap";
}

/** To which further steps can be added. */
function isPrimary({ kind }: Expression): boolean {
  return (
    kind === "scope-traversal" ||
    kind === "call" ||
    kind === "relative-traversal" ||
    kind === "index" ||
    kind === "parentheses"
  );
}

/** Which binds its parts itself. */
function isClosed({ kind }: Expression): boolean {
  return (
    kind === "number" ||
    kind === "boolean" ||
    kind === "null" ||
    kind === "string" ||
    kind === "template" ||
    kind === "template-wrap" ||
    kind === "tuple" ||
    kind === "object" ||
    kind === "for"
  );
}

/** The edit that removes an argument with its line, and what is said about it at the end of that. */
function removedLine(text: string, { start, end }: Span): TextEdit {
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const newline = text.indexOf("\n", end);
  const lineEnd = newline === -1 ? text.length : newline + 1;
  const isOwn =
    /^\s*$/.test(text.slice(lineStart, start)) &&
    /^\s*(?:(?:#|\/\/).*)?$/.test(text.slice(end, lineEnd).trimEnd());
  const range = isOwn ? { start: lineStart, end: lineEnd } : { start, end };
  return { range: new Lines(text).range(range), newText: "" };
}
