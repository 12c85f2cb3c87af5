import type { Path, PathStep } from "@stackwright/cty";
import {
  type ConfigBody,
  type Expression,
  type InstanceKey,
  type ResourceConfig,
  readAttributes,
  readBody,
  type ScopeTraversal,
} from "@stackwright/lang";

/**
 * The text that the block of a resource has as a literal at a place, or the key of the instance, which is in its address anyway; undefined
 * where anything else decides what is there. Nothing is evaluated: what goes through a local or a variable may be used for a secret
 * elsewhere, and is no literal.
 */
export function writtenLiteral(
  { body }: Pick<ResourceConfig, "body">,
  path: Path,
  key: InstanceKey | undefined,
): string | undefined {
  const expression = inBody(body, path.steps);
  return expression && literalOf(expression, key);
}

/** The same for an expression, such as that of an output. */
export function expressionLiteral(expression: Expression, path: Path): string | undefined {
  const found = inExpression(expression, path.steps);
  return found && literalOf(found, undefined);
}

/**
 * All that a block writes as literals, for an instance by its key: a place that is not among them needs no search. Undefined for a block that is
 * not in native syntax alone.
 */
export function literalsIn(
  body: ConfigBody,
): ((key: InstanceKey | undefined) => Iterable<string>) | undefined {
  const open: (ConfigBody | Expression)[] = [body];
  const found: Expression[] = [];
  // Grows while it is walked.
  for (const part of open) {
    if (part.kind === "json-body" || part.kind === "merged-body") return undefined;
    if (part.kind === "body") {
      for (const item of part.items) open.push(item.kind === "block" ? item.body : item.expression);
    } else if (part.kind === "object") {
      for (const { key, value } of part.items) open.push(key.expression, value);
    } else if (part.kind === "tuple") {
      open.push(...part.elements);
    } else if (unwrapped(part) === part) {
      found.push(part);
    } else {
      open.push(unwrapped(part));
    }
  }
  return (key) => found.map((one) => literalOf(one, key)).filter((text) => text !== undefined);
}

function inBody(body: ConfigBody, [step, ...rest]: readonly PathStep[]): Expression | undefined {
  if (step?.kind !== "attribute") return undefined;
  const attribute = readAttributes(body, []).get(step.name);
  if (attribute !== undefined) return inExpression(attribute.expression, rest);
  const blocks = { [step.name]: [], dynamic: ["type"] };
  const found = readBody(body, { attributes: [], blocks }, [], { ignore: true }).blocks;
  // How many blocks a `dynamic` one stands for is not written.
  if (found.some(({ type, labels }) => type === "dynamic" && labels[0]?.value === step.name)) {
    return undefined;
  }
  const own = found.filter(({ type }) => type === step.name);
  const [index, ...inner] = rest;
  if (index?.kind === "attribute") {
    const [only, another] = own;
    return only === undefined || another !== undefined ? undefined : inBody(only.body, rest);
  }
  const at = index === undefined ? undefined : keyOf(index);
  const block = typeof at === "number" ? own[at] : undefined;
  return block && inBody(block.body, inner);
}

function inExpression(given: Expression, steps: readonly PathStep[]): Expression | undefined {
  const expression = unwrapped(given);
  const [step, ...rest] = steps;
  if (step === undefined) return expression;
  const at = step.kind === "attribute" ? step.name : keyOf(step);
  if (expression.kind === "tuple") {
    const element = typeof at === "number" ? expression.elements[at] : undefined;
    return element && inExpression(element, rest);
  }
  if (expression.kind !== "object") return undefined;
  const items = expression.items.filter(({ key }) => {
    return (key.literal ?? literalOf(key.expression, undefined)) === at;
  });
  // Of equal keys the last one counts.
  const item = items.at(-1);
  return item && inExpression(item.value, rest);
}

function unwrapped(expression: Expression): Expression {
  if (expression.kind === "parentheses" || expression.kind === "template-wrap") {
    return unwrapped(expression.expression);
  }
  return expression.kind === "json-string" ? unwrapped(expression.template) : expression;
}

function keyOf(step: Extract<PathStep, { kind: "index" }>): string | number | undefined {
  const [key] = step.key.unmark();
  if (!key.isKnown || key.isNull) return undefined;
  if (key.type.kind === "string") return key.asString();
  return key.type.kind === "number" ? Number(key.asBigFloat().toString()) : undefined;
}

/** The text of what is written; that of a number is the one in which values of numbers are compared. */
function literalOf(given: Expression, key: InstanceKey | undefined): string | undefined {
  const expression = unwrapped(given);
  if (expression.kind === "string") return expression.value;
  if (expression.kind === "number") return expression.text;
  if (expression.kind === "template") {
    const parts = expression.parts.map((part) => literalOf(part, key));
    return parts.every((part) => part !== undefined) ? parts.join("") : undefined;
  }
  return expression.kind === "scope-traversal" ? keyText(expression, key) : undefined;
}

/** The key of the instance, for `each.key` and `count.index`. */
function keyText(
  { root, steps }: ScopeTraversal,
  key: InstanceKey | undefined,
): string | undefined {
  const [step, another] = steps;
  if (another !== undefined || step?.kind !== "attribute-step") return undefined;
  const isKey =
    (root === "each" && step.name === "key" && typeof key === "string") ||
    (root === "count" && step.name === "index" && typeof key === "number");
  return isKey ? String(key) : undefined;
}
