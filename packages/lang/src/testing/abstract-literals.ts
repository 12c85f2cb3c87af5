import { Value } from "@stackwright/cty";
import { evaluateNumber } from "../eval/literal.ts";
import type { Expression, ScopeTraversal } from "../syntax/ast.ts";

/** An expression whose literals have become names, and what the names stand for. */
interface Abstracted {
  readonly expression: Expression;
  readonly values: ReadonlyMap<string, Value>;
}

/**
 * Replaces every literal of an expression by a name, so that it can be evaluated with other values
 * in their place. Null stays: there is no other value of its type to put there.
 */
export function abstractLiterals(expression: Expression): Abstracted {
  const values = new Map<string, Value>();
  // Loops are entered once per node: the clones of one splat item must stay one node.
  const clones = new Map<object, unknown>();

  const name = ({ source, start, end }: Expression, value: Value): ScopeTraversal => {
    const root = `literal${values.size}`;
    values.set(root, value);
    return { kind: "scope-traversal", source, start, end, root, rootEnd: end, steps: [] };
  };
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit);
    if (typeof node !== "object" || node === null || !("kind" in node)) {
      return isItem(node) ? { key: visit(node.key), value: visit(node.value) } : node;
    }
    const known = clones.get(node);
    if (known !== undefined) return known;
    const expr = node as Expression;
    if (expr.kind === "number") return name(expr, evaluateNumber(expr));
    if (expr.kind === "string") return name(expr, Value.string(expr.value));
    if (expr.kind === "boolean") return name(expr, Value.bool(expr.value));
    if ((node.kind as string) === "index-step") return node;
    const clone: Record<string, unknown> = {};
    clones.set(node, clone);
    for (const [key, part] of Object.entries(node))
      clone[key] = key === "source" ? part : visit(part);
    return clone;
  };
  return { expression: visit(expression) as Expression, values };
}

function isItem(node: unknown): node is { key: unknown; value: unknown } {
  return typeof node === "object" && node !== null && "key" in node && "value" in node;
}
