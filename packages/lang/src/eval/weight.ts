import type { Value } from "@stackwright/cty";
import type { EvaluationContext } from "./context.ts";

/*
 * How many parts a value has, counting shared ones as often as they occur. Values share structure,
 * so that a few lines (`b = [a, a]`, `c = [b, b]`, ...) make a value that fits into memory but
 * cannot be printed, compared or encoded in practice. Constructors therefore refuse what grows too heavy.
 * Weights are remembered per value: a value made of remembered ones is weighed by adding.
 */
const weights = new WeakMap<Value, number>();

/** The number of parts of a value; stops counting soon after the limit. */
function weigh(value: Value, limit: number): number {
  const [plain] = value.unmark();
  if (!plain.isKnown || plain.isNull) return 1;
  const { kind } = plain.type;
  if (
    kind !== "tuple" &&
    kind !== "object" &&
    kind !== "list" &&
    kind !== "map" &&
    kind !== "set"
  ) {
    return 1;
  }
  const known = weights.get(value);
  if (known !== undefined) return known;
  let total = 1;
  for (const part of plain.elements()) {
    total += weigh(part, limit - total);
    if (total > limit) break;
  }
  weights.set(value, total);
  return total;
}

/** Ends the evaluation where a value made of these parts has become too heavy. */
export function checkWeight(
  context: EvaluationContext,
  value: Value,
  parts: Iterable<Value>,
): Value {
  const { maxValueParts } = context.limits;
  let total = 1;
  for (const part of parts) {
    total += weigh(part, maxValueParts - total);
    if (total > maxValueParts)
      throw context.limit(`A value would have more than ${maxValueParts} parts.`);
  }
  weights.set(value, total);
  return value;
}
