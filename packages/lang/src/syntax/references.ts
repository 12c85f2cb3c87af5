import type { Expression, FunctionCall, ScopeTraversal } from "./ast.ts";
import { childExpressions } from "./walk.ts";

/**
 * The references of an expression to names outside of it, in the order of the source and with all
 * their literal steps. Names of loops are not references inside of the loop, bare keys of objects
 * never are. Nothing is evaluated.
 */
export function expressionReferences(expression: Expression): ScopeTraversal[] {
  const found: ScopeTraversal[] = [];
  collect(expression, NO_NAMES, found);
  return found;
}

/** All function calls in an expression, outer ones first. */
export function expressionCalls(expression: Expression): FunctionCall[] {
  const found: FunctionCall[] = [];
  const visit = (node: Expression): void => {
    if (node.kind === "call") found.push(node);
    for (const child of childExpressions(node)) visit(child);
  };
  visit(expression);
  return found;
}

const NO_NAMES: ReadonlySet<string> = new Set();

function collect(
  expression: Expression,
  local: ReadonlySet<string>,
  found: ScopeTraversal[],
): void {
  if (expression.kind === "scope-traversal") {
    if (!local.has(expression.root)) found.push(expression);
    return;
  }
  if (expression.kind !== "for") {
    for (const child of childExpressions(expression)) collect(child, local, found);
    return;
  }
  collect(expression.collection, local, found);
  const inner = new Set(local).add(expression.valueName);
  if (expression.keyName !== undefined) inner.add(expression.keyName);
  for (const child of [expression.key, expression.value, expression.condition]) {
    if (child !== undefined) collect(child, inner, found);
  }
}
