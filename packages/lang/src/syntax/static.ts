import type { Expression, FunctionCall, ObjectItem, ScopeTraversal } from "./ast.ts";
import type { Diagnostic } from "./diagnostic.ts";
import { parseExpression } from "./parse.ts";
import { ProblemCollector } from "./problem.ts";

/*
 * Reading expressions without evaluating them, for the places where the language wants a reference,
 * a type, a list of references or a keyword and not a value: `depends_on`, `type`, `providers`,
 * `ignore_changes`, addresses. The tree is the same as for evaluation. A string of a JSON file is
 * read as if its text were written there in native syntax.
 */

/** What was read, or what is wrong with it. */
export type Static<T> =
  | { readonly value: T; readonly diagnostics?: undefined }
  | { readonly value?: undefined; readonly diagnostics: readonly Diagnostic[] };

/** A list in brackets: its element expressions. */
export function staticList(expression: Expression): Static<readonly Expression[]> {
  if (expression.kind === "tuple") return { value: expression.elements };
  return refuse(expression, "A static list is required: its elements in brackets.");
}

/** An object in braces: its items. */
export function staticMap(expression: Expression): Static<readonly ObjectItem[]> {
  if (expression.kind === "object") return { value: expression.items };
  return refuse(expression, "A static map is required: its items in braces.");
}

/** A function call: its name and arguments. */
export function staticCall(expression: Expression): Static<FunctionCall> {
  const { value, diagnostics } = nativeForm(expression);
  if (diagnostics !== undefined) return { diagnostics };
  if (value.kind === "call") return { value };
  return refuse(expression, "A static function call is required.");
}

/** A reference: a name with attribute names and literal indexes. */
export function staticTraversal(expression: Expression): Static<ScopeTraversal> {
  const { value, diagnostics } = nativeForm(expression);
  if (diagnostics !== undefined) return { diagnostics };
  if (value.kind === "scope-traversal") return { value };
  // What begins with a keyword is a reference here: `provider = null.other`.
  const [first, steps] =
    value.kind === "relative-traversal" ? [value.from, value.steps] : [value, []];
  const root = keywordOf(first);
  if (root === undefined) {
    return refuse(
      expression,
      "A static reference is required: a name, attribute names and literal indexes.",
    );
  }
  const { source, start, end } = value;
  return {
    value: { kind: "scope-traversal", source, start, end, root, rootEnd: first.end, steps },
  };
}

/** The word that an expression consists of, or undefined where it is anything else. */
export function staticKeyword(expression: Expression): string | undefined {
  const { value } = nativeForm(expression);
  return value === undefined ? undefined : keywordOf(value);
}

/** The expression itself, or for a string of a JSON file the expression that its text holds. */
export function nativeForm(expression: Expression): Static<Expression> {
  if (expression.kind !== "json-string") return { value: expression };
  const { value, diagnostics } = parseExpression(expression.text);
  return diagnostics.length > 0 ? { diagnostics } : { value };
}

function keywordOf(expression: Expression): string | undefined {
  if (expression.kind === "boolean") return String(expression.value);
  if (expression.kind === "null") return "null";
  if (expression.kind !== "scope-traversal" || expression.steps.length > 0) return undefined;
  return expression.root;
}

function refuse(expression: Expression, detail: string): { diagnostics: readonly Diagnostic[] } {
  const problems = new ProblemCollector(expression.source, 1);
  problems.error("LANG_STATIC", detail, expression.start, expression.end);
  return { diagnostics: problems.diagnostics };
}
