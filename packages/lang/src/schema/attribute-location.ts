import { Path, type PathStep, unmarkDeep } from "@stackwright/cty";
import { rangeOf } from "../config/static-reader.ts";
import type { Expression } from "../syntax/ast.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import type { LocatedBlock, LocatedBody } from "./located-body.ts";

/** Where a configuration says what stands at a path of its value. */
export interface AttributeLocation {
  readonly subject: SourceRange;
  /** The block around it, where the place is inside a nested one. */
  readonly context: SourceRange | undefined;
  /** For blocks made by `dynamic` ones: the elements that they were made for, outermost first. */
  readonly elements: readonly string[];
  /** How many steps of the path were followed. The rest is not written in one place. */
  readonly steps: number;
}

/** Follows a path through blocks, arguments and literals as far as they are written. */
export function locatePath(root: LocatedBody, path: Path): AttributeLocation {
  const steps = path.steps;
  const elements: string[] = [];
  let body = root;
  let context: SourceRange | undefined;
  let at = 0;
  for (;;) {
    const step = steps[at];
    if (step?.kind !== "attribute") break;
    const attribute = body.bound.attributes.get(step.name);
    if (attribute !== undefined) {
      const { expression, steps: more } = literalAt(attribute.expression, steps.slice(at + 1));
      return { subject: rangeOf(expression), context, elements, steps: at + 1 + more };
    }
    const blocks = body.blocks.get(step.name);
    const bound = body.bound.blocks.get(step.name);
    if (blocks === undefined || bound === undefined) break;
    const { nesting } = bound.schema;
    const direct = nesting === "single" || nesting === "group";
    const block = direct ? blocks[0] : elementAt(blocks, steps[at + 1]);
    if (block === undefined) {
      const [first] = blocks;
      return { subject: first?.range ?? body.bound.range, context, elements, steps: at + 1 };
    }
    at += direct ? 1 : 2;
    if (block.element !== undefined) elements.push(block.element);
    context = block.range;
    body = block.placed;
  }
  return { subject: context ?? root.bound.range, context, elements, steps: at };
}

function elementAt(
  blocks: readonly LocatedBlock[],
  step: PathStep | undefined,
): LocatedBlock | undefined {
  if (step?.kind !== "index") return undefined;
  const [key] = unmarkDeep(step.key);
  if (!key.isKnown || key.isNull) return undefined;
  if (key.type.kind === "number") return blocks[key.asNumber()];
  if (key.type.kind === "string") return blocks.find((block) => block.key === key.asString());
  // The element of a set is its own key. A provider may have changed it; then nothing is found.
  return blocks.find(({ value }) => unmarkDeep(value)[0].rawEquals(key));
}

/** The part of a literal object or tuple that a path leads to, as far as it is one. */
function literalAt(
  whole: Expression,
  path: readonly PathStep[],
): { readonly expression: Expression; readonly steps: number } {
  let expression = whole;
  for (const [at, step] of path.entries()) {
    while (expression.kind === "parentheses") expression = expression.expression;
    const inner = partOf(expression, step);
    if (inner === undefined) return { expression, steps: at };
    expression = inner;
  }
  return { expression, steps: path.length };
}

function partOf(expression: Expression, step: PathStep): Expression | undefined {
  if (step.kind === "index" && (!step.key.isKnown || step.key.isNull)) return undefined;
  const key = step.kind === "attribute" ? step.name : step.key.unmark()[0];
  if (expression.kind === "tuple") {
    if (typeof key === "string" || key.type.kind !== "number") return undefined;
    return expression.elements[key.asNumber()];
  }
  if (expression.kind !== "object") return undefined;
  const name = typeof key === "string" ? key : key.type.kind === "string" ? key.asString() : "";
  // Of equal keys the last one counts.
  return expression.items.findLast(({ key: own }) => literalName(own) === name)?.value;
}

function literalName({
  literal,
  expression,
}: Extract<Expression, { kind: "object" }>["items"][number]["key"]): string | undefined {
  if (literal !== undefined) return literal;
  if (expression.kind === "string") return expression.value;
  if (expression.kind === "json-string" && expression.template.kind === "string") {
    return expression.template.value;
  }
  return undefined;
}

/** What a provider says about a body, with an attribute path that leads into its value. */
export interface BodyProblem {
  readonly severity: "error" | "warning";
  readonly summary: string;
  readonly detail: string;
  readonly attribute?: Path;
}

/**
 * What a provider says as a diagnostic at the place in the source that it is about. Where the rest
 * of the path is not written in one place, or a `dynamic` block was repeated, the detail says which
 * part is meant.
 */
export function providerDiagnostic(
  body: { locate(path: Path): AttributeLocation },
  { severity, summary, detail, attribute }: BodyProblem,
  address?: string,
): Diagnostic {
  const path = attribute ?? Path.root;
  const { subject, context, elements, steps } = body.locate(path);
  const hints: string[] = [];
  if (steps < path.length) hints.push(`This is about ${path.toString().replace(/^\./, "")}.`);
  if (elements.length > 0) hints.push(`The block was made for ${elements.join(", ")}.`);
  return {
    severity,
    code: "LANG_PROVIDER",
    summary,
    detail: [detail, ...hints].filter((text) => text !== "").join("\n\n"),
    subject,
    ...(context !== undefined && { context }),
    ...(address !== undefined && { address }),
  };
}
