import { createHash } from "node:crypto";
import { childrenOf, parseSource, type SyntaxNode } from "./syntax-tree.ts";

/** One change of a source that its tests ought to notice. */
export interface Mutant {
  /** The same for the same change of the same text, wherever in the file it is: lists of mutants outlive other changes. */
  readonly id: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly kind: string;
  readonly line: number;
  /** The line before and after the change. */
  readonly before: string;
  readonly after: string;
  /** Number of the innermost function around it, as `hitProbes` numbers them; -1 outside of all functions. */
  readonly owner: number;
}

/** Where a change is, and what comes there. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly kind: string;
}

const SWAPPED_OPERATORS: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
};

const SWAPPED_MEMBERS: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
};

/** All mutants of a source, in the order of their places. */
export function mutantsOf(path: string, source: string): Mutant[] {
  const found: { edit: Edit; owner: number }[] = [];
  let functions = 0;
  const visit = (node: SyntaxNode, owner: number): void => {
    if (isWithoutCode(node)) return;
    const inner = isFunction(node) ? functions++ : owner;
    // The other sign of a comparison has no size.
    if (node.type === "UnaryExpression" && node["operator"] === "-") return;
    for (const edit of editsOf(node, source)) found.push({ edit, owner });
    for (const child of childrenOf(node)) visit(child, inner);
  };
  visit(parseSource(path, source), -1);

  const times = new Map<string, number>();
  return found
    .toSorted((left, right) => left.edit.start - right.edit.start || left.edit.end - right.edit.end)
    .map(({ edit, owner }) => {
      const { before, after } = linesAround(source, edit);
      const what = `${path}\n${edit.kind}\n${before}\n${after}`;
      const time = times.get(what) ?? 0;
      times.set(what, time + 1);
      const id = createHash("sha256").update(`${what}\n${time}`).digest("hex").slice(0, 12);
      const line = source.slice(0, edit.start).split("\n").length;
      return { id, ...edit, line, before, after, owner };
    });
}

/** Functions, in the order in which both this file and the probes number them. */
export function isFunction({ type }: SyntaxNode): boolean {
  return (
    type === "FunctionDeclaration" ||
    type === "FunctionExpression" ||
    type === "ArrowFunctionExpression"
  );
}

/** Types and imports, which do not exist when the program runs. */
export function isWithoutCode({ type }: SyntaxNode): boolean {
  return (
    (type.startsWith("TS") && !CODE_IN_TYPES.has(type)) ||
    type === "ImportDeclaration" ||
    type === "ExportAllDeclaration"
  );
}

/** Nodes of TypeScript that only wrap an expression. */
const CODE_IN_TYPES = new Set([
  "TSAsExpression",
  "TSNonNullExpression",
  "TSSatisfiesExpression",
  "TSInstantiationExpression",
]);

function editsOf(node: SyntaxNode, source: string): Edit[] {
  const whole = (replacement: string, kind: string): Edit => ({
    start: node.start,
    end: node.end,
    replacement,
    kind,
  });
  const negated = (test: SyntaxNode): Edit => ({
    start: test.start,
    end: test.end,
    replacement: `!(${source.slice(test.start, test.end)})`,
    kind: "negated condition",
  });
  switch (node.type) {
    case "BinaryExpression": {
      const swapped = SWAPPED_OPERATORS[node["operator"] as string];
      return swapped === undefined ? [] : [operatorEdit(node, source, swapped, "operator")];
    }
    case "LogicalExpression": {
      const operator = node["operator"] as string;
      const left = node["left"] as SyntaxNode;
      return operator === "??"
        ? [whole(source.slice(left.start, left.end), "default removed")]
        : [operatorEdit(node, source, operator === "&&" ? "||" : "&&", "logic")];
    }
    case "IfStatement":
    case "ConditionalExpression":
    case "WhileStatement":
      return [negated(node["test"] as SyntaxNode)];
    case "UnaryExpression": {
      const argument = node["argument"] as SyntaxNode;
      return node["operator"] === "!"
        ? [whole(source.slice(argument.start, argument.end), "negation removed")]
        : [];
    }
    case "AwaitExpression": {
      const argument = node["argument"] as SyntaxNode;
      return [whole(source.slice(argument.start, argument.end), "await removed")];
    }
    case "ExpressionStatement": {
      const isDirective = node["directive"] !== undefined && node["directive"] !== null;
      // A check of types alone does nothing when it runs.
      const isCheck = (node["expression"] as SyntaxNode).type === "TSSatisfiesExpression";
      return isDirective || isCheck ? [] : [whole(";", "statement removed")];
    }
    case "ThrowStatement":
    case "BreakStatement":
    case "ContinueStatement":
      return [whole(";", "statement removed")];
    case "ReturnStatement":
      return isEmptyResult(node["argument"] as SyntaxNode | null)
        ? []
        : [whole("return undefined as never;", "result")];
    case "Literal":
      return literalEdits(node["value"], whole, source.slice(node.start, node.end));
    case "CallExpression": {
      const callee = node["callee"] as SyntaxNode;
      const property = callee["property"] as SyntaxNode | undefined;
      const swapped = SWAPPED_MEMBERS[(property?.["name"] as string | undefined) ?? ""];
      return swapped === undefined || property === undefined
        ? []
        : [{ start: property.start, end: property.end, replacement: swapped, kind: "call" }];
    }
    default:
      return [];
  }
}

/** A result that a caller hardly tells from none: the change of a literal is another mutant. */
function isEmptyResult(node: SyntaxNode | null): boolean {
  if (node === null) return true;
  if (node.type === "Identifier") return node["name"] === "undefined";
  // A check that all cases were handled is never reached.
  if (node.type === "TSSatisfiesExpression") {
    return (node["typeAnnotation"] as SyntaxNode).type === "TSNeverKeyword";
  }
  return node.type === "Literal" && (node["value"] === false || node["value"] === null);
}

function literalEdits(
  value: unknown,
  whole: (replacement: string, kind: string) => Edit,
  text: string,
): Edit[] {
  if (typeof value === "boolean") return [whole(String(!value), "literal")];
  if (typeof value === "number") return [whole(`(${text} + 1)`, "literal")];
  return typeof value === "bigint" ? [whole(`(${text} + 1n)`, "literal")] : [];
}

/** The operator is somewhere between its operands, with comments and line ends around it. */
function operatorEdit(node: SyntaxNode, source: string, swapped: string, kind: string): Edit {
  const from = (node["left"] as SyntaxNode).end;
  const start = source.indexOf(node["operator"] as string, from);
  const end = start + (node["operator"] as string).length;
  return { start, end, replacement: swapped, kind };
}

function linesAround(source: string, { start, end, replacement }: Edit) {
  const from = source.lastIndexOf("\n", start - 1) + 1;
  const next = source.indexOf("\n", end);
  const to = next === -1 ? source.length : next;
  const short = (text: string): string => text.replaceAll(/\s+/g, " ").trim().slice(0, 160);
  return {
    before: short(source.slice(from, to)),
    after: short(source.slice(from, start) + replacement + source.slice(end, to)),
  };
}
