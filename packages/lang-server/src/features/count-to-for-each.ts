import { dirname } from "node:path";
import {
  type Attribute,
  type Block,
  childExpressions,
  type Expression,
  expressionReferences,
  hasErrors,
  quoteLiteral,
  type ScopeTraversal,
} from "@stackwright/lang";
import { type CodeAction, CodeActionKind, type TextEdit } from "vscode-languageserver-protocol";
import { expressionsAt, findPlace } from "../document/find-place.ts";
import { itemLines } from "../document/item-span.ts";
import { uriOf } from "../document/locate.ts";
import type { FileIndex } from "../index/file-index.ts";
import { type ModuleSymbol, shortName, symbolText } from "../index/symbol.ts";
import type { PlacedOccurrence, Workspace } from "../index/workspace.ts";
import { behind } from "./behind.ts";
import { formattedEdits, type SpanEdit } from "./formatted-edits.ts";
import { argumentOf, declaredObject, topBlockAt } from "./top-block.ts";
import { isNamedUnread } from "./unread-names.ts";

/** Each instance gets a block that says where it went. */
const MAX_INSTANCES = 100;
const WHOLE_IS_NAMED: ReadonlySet<string> = new Set(["depends_on", "replace_triggered_by"]);
const NAMES_ALONE: ReadonlySet<string> = new Set(["provider", "providers", "depends_on"]);

/** The instances that a block has, by number and by key. */
interface Instances {
  readonly keys: readonly string[];
  readonly forEach: string;
  /** The list whose length the number is, as it is written. */
  readonly list?: string;
}

/**
 * Offers to tell instances apart by keys and not by numbers: of a constant count, or the length of a list of constant strings. Every
 * object is kept, by a `moved` block each. None where a use of the instances or their numbers has no equal form.
 */
export function countConversions(workspace: Workspace, path: string, offset: number): CodeAction[] {
  const found = topBlockAt(workspace, path, offset);
  if (found === undefined) return [];
  const { index, block, attribute } = found;
  const folder = dirname(path);
  const symbol = declaredObject(block);
  const count = argumentOf(block, "count");
  if (symbol === undefined || count === undefined || argumentOf(block, "for_each")) return [];
  if (attribute !== undefined && attribute !== count) return [];
  const instances = instancesOf(workspace, folder, index, count.expression);
  if (instances === undefined || workspace.find(folder, symbol).length !== 1) return [];
  if (isNamedUnread(workspace, folder, shortName(symbol))) return [];
  const own = ownEdits(index, block, count, instances);
  const lines = itemLines(index.file, block);
  if (own === undefined || lines === undefined) return [];
  const moves = movedBlocks(symbol, instances);
  if (moves !== "") own.push(behind(index.file.source.text, lines, moves));
  const edits = new Map<string, SpanEdit[]>([[path, own]]);
  for (const use of workspace.occurrences(folder, symbol)) {
    if (use.declares) continue;
    const changed = useEdits(workspace, use, instances);
    if (changed === undefined) return [];
    const others = edits.get(use.path);
    if (others === undefined) edits.set(use.path, changed);
    else others.push(...changed);
  }
  const changes: Record<string, TextEdit[]> = {};
  for (const [file, spans] of edits) {
    const { file: syntax } = workspace.index(file) ?? index;
    const formatted = formattedEdits(syntax, spans);
    if (formatted === undefined) return [];
    if (formatted.length > 0) changes[uriOf(file)] = formatted;
  }
  const title = `Convert count of ${symbolText(symbol)} to for_each`;
  return [{ title, kind: CodeActionKind.RefactorRewrite, edit: { changes } }];
}

function movedBlocks(symbol: ModuleSymbol, { keys }: Instances): string {
  // What is read has no objects that would be kept.
  if (symbol.name.startsWith("data.") && symbol.kind === "resource") return "";
  const address = symbolText(symbol);
  return keys
    .map(
      (key, at) =>
        `moved {\n  from = ${address}[${at}]\n  to   = ${address}["${quoteLiteral(key)}"]\n}\n`,
    )
    .join("\n");
}

function instancesOf(
  workspace: Workspace,
  folder: string,
  { file }: FileIndex,
  count: Expression,
): Instances | undefined {
  if (count.kind === "number") {
    const number = /^[0-9]{1,3}$/.test(count.text) ? Number(count.text) : 0;
    if (number < 1 || number > MAX_INSTANCES) return undefined;
    const keys = Array.from({ length: number }, (_, at) => String(at));
    return { keys, forEach: `toset([${keys.map((key) => `"${key}"`).join(", ")}])` };
  }
  const [argument, ...others] = count.kind === "call" ? count.arguments : [];
  if (count.kind !== "call" || count.name !== "length" || count.expandFinal) return undefined;
  if (argument === undefined || others.length > 0) return undefined;
  const keys = constantStrings(localValue(workspace, folder, argument) ?? argument);
  const list = file.source.text.slice(argument.start, argument.end);
  if (keys === undefined || /[#\n]|\/[/*]/.test(list)) return undefined;
  return { keys, forEach: `toset(${list})`, list };
}

/** The expression of the local value that an expression is. */
function localValue(
  workspace: Workspace,
  folder: string,
  expression: Expression,
): Expression | undefined {
  if (expression.kind !== "scope-traversal" || expression.root !== "local") return undefined;
  const [step, ...others] = expression.steps;
  if (step?.kind !== "attribute-step" || others.length > 0) return undefined;
  const [declaration, second] = workspace.find(folder, { kind: "local", name: step.name });
  const index = declaration && workspace.index(declaration.path);
  if (index === undefined || second !== undefined) return undefined;
  if (isNamedUnread(workspace, folder, "locals")) return undefined;
  return findPlace(index.file, declaration?.span.start ?? 0).attribute?.expression;
}

/** The strings of a list of different ones. */
function constantStrings(expression: Expression): string[] | undefined {
  if (expression.kind !== "tuple" || expression.elements.length > MAX_INSTANCES) return undefined;
  const found = expression.elements.flatMap((each) => (each.kind === "string" ? [each.value] : []));
  const isPlain = found.every((each) => each !== "" && each === each.normalize("NFC"));
  const areAll = found.length === expression.elements.length && found.length > 0;
  return areAll && isPlain && new Set(found).size === found.length ? found : undefined;
}

/** The edits of the block itself; undefined where a number of an instance is used in a way that has no equal form. */
function ownEdits(
  { file }: FileIndex,
  block: Block,
  count: Attribute,
  instances: Instances,
): SpanEdit[] | undefined {
  const edits: SpanEdit[] = [
    { start: count.start, end: count.nameEnd, newText: "for_each" },
    { start: count.expression.start, end: count.expression.end, newText: instances.forEach },
  ];
  const visit = (around: Block, isBound: boolean): boolean =>
    around.body.items.every((item) => {
      if (item.kind === "block") {
        // Names of iterators would hide those that are written.
        if (item.type === "dynamic" && isOfInstances(item)) return false;
        const isRestricted = item.type === "provisioner" && instances.list !== undefined;
        return visit(item, isBound || isRestricted || item.type === "lifecycle");
      }
      if (item === count) return true;
      const references = expressionReferences(item.expression).filter(
        ({ root }) => root === "count",
      );
      const found = numberUses(item.expression, file.source.text, instances);
      // Where only some names may stand, a call may not.
      const isNamed = isBound || NAMES_ALONE.has(item.name);
      if (isNamed && references.length > 0) return false;
      if (found?.length !== references.length) return false;
      edits.push(...found);
      return true;
    });
  return visit(block, false) ? edits : undefined;
}

function isOfInstances({ labels, body }: Block): boolean {
  const names = labels.map(({ value }) => value);
  for (const item of body.items) {
    if (item.kind !== "attribute" || item.name !== "iterator") continue;
    if (item.expression.kind === "scope-traversal") names.push(item.expression.root);
  }
  return names.includes("count") || names.includes("each");
}

/** The edits of the places in an expression that read `count.index`. */
function numberUses(
  expression: Expression,
  text: string,
  { list }: Instances,
): SpanEdit[] | undefined {
  const edits: SpanEdit[] = [];
  const isList = (each: Expression | undefined): boolean =>
    each !== undefined && list !== undefined && text.slice(each.start, each.end) === list;
  // The list is of a local value.
  const isTaken = (name: string | undefined): boolean =>
    name === "count" || name === "each" || name === "local";
  const visit = (at: Expression, parent: Expression | undefined): boolean => {
    if (at.source.text !== text) return false;
    if (at.kind === "for" && [at.keyName, at.valueName].some(isTaken)) return false;
    if (at.kind !== "scope-traversal" || at.root !== "count") {
      return [...childExpressions(at)].every((child) => visit(child, at));
    }
    const [step, ...others] = at.steps;
    if (step?.kind !== "attribute-step" || step.name !== "index" || others.length > 0) return false;
    const { start, end } = at;
    if (parent?.kind === "index" && parent.key === at && isList(parent.collection)) {
      edits.push({ start: parent.start, end: parent.end, newText: "each.key" });
    } else if (isElement(parent, at) && isList(parent.arguments[0])) {
      edits.push({ start: parent.start, end: parent.end, newText: "each.key" });
    } else if (list !== undefined) {
      edits.push({ start, end, newText: `index(${list}, each.key)` });
    } else {
      const isText = parent?.kind === "template";
      edits.push({ start, end, newText: isText ? "each.key" : "tonumber(each.key)" });
    }
    return true;
  };
  return visit(expression, undefined) ? edits : undefined;
}

function isElement(
  parent: Expression | undefined,
  at: Expression,
): parent is Extract<Expression, { kind: "call" }> {
  if (parent?.kind !== "call" || parent.name !== "element" || parent.expandFinal) return false;
  return parent.arguments.length === 2 && parent.arguments[1] === at;
}

/** The edits of one use of the instances; undefined where it has no equal form. */
function useEdits(
  workspace: Workspace,
  use: PlacedOccurrence,
  { keys, list }: Instances,
): SpanEdit[] | undefined {
  const index = workspace.index(use.path);
  if (index === undefined || hasErrors(index.file.diagnostics)) return undefined;
  const { blocks, attribute } = findPlace(index.file, use.span.start);
  if (attribute === undefined) return undefined;
  const chain = expressionsAt(attribute.expression, use.span.start);
  const traversal = chain.at(-1);
  if (traversal?.kind !== "scope-traversal" || traversal.source !== index.file.source) {
    return undefined;
  }
  const at = traversal.steps.findIndex(({ end }) => end === use.span.end);
  const next = traversal.steps[at + 1];
  if (use.isHistory === true) return next === undefined ? [] : undefined;
  if (next?.kind === "index-step" && next.key.kind === "number") {
    const key = /^[0-9]{1,3}$/.test(next.key.text) ? keys[Number(next.key.text)] : undefined;
    if (key === undefined) return undefined;
    return [{ start: next.start, end: next.end, newText: `["${quoteLiteral(key)}"]` }];
  }
  if (next !== undefined) return undefined;
  const parent = chain.at(-2);
  if (parent?.kind === "index" && parent.collection === traversal) {
    // The keys are the numbers as texts; where names alone may stand, a call may not.
    const isNamed = blocks[0]?.type === "import" || WHOLE_IS_NAMED.has(attribute.name);
    if (list !== undefined || isNamed) return undefined;
    const { start, end } = parent.key;
    return [
      { start, end: start, newText: "tostring(" },
      { start: end, end, newText: ")" },
    ];
  }
  return wholeUse(attribute, parent, traversal, keys);
}

/** A use of all instances together. */
function wholeUse(
  { name }: Attribute,
  parent: Expression | undefined,
  traversal: ScopeTraversal,
  keys: readonly string[],
): SpanEdit[] | undefined {
  if (WHOLE_IS_NAMED.has(name) && (parent === undefined || parent.kind === "tuple")) return [];
  if (parent?.kind === "call" && parent.name === "length") return [];
  if (parent?.kind !== "splat" || parent.from !== traversal) return undefined;
  // The values of a map come in the order of its keys.
  const isInOrder = keys.every((key, at) => at === 0 || (keys[at - 1] ?? "") < key);
  if (!isInOrder || keys.some((key) => /[^\x20-\x7e]/.test(key))) return undefined;
  const { start, end } = traversal;
  return [
    { start, end: start, newText: "values(" },
    { start: end, end, newText: ")" },
  ];
}
