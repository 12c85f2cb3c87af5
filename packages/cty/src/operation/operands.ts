import { CtyError } from "../errors.ts";
import { typeName } from "../type/names.ts";
import type { Marks } from "../value/marks.ts";
import type { Payload } from "../value/payload.ts";
import { stripMarks } from "../value/strip-marks.ts";
import { Value } from "../value/value.ts";

/**
 * Checks an unmarked operand: it must be of the type, or of an open type, and not null.
 * Returns its payload; that of an open type is an unknown.
 */
export function operand(value: Value, kind: "number" | "bool"): Payload {
  if (value.type.kind !== kind && value.type.kind !== "dynamic") {
    throw new CtyError("CTY_WRONG_TYPE", `expected ${kind}, got ${typeName(value.type)}`);
  }
  if (value.isNull) throw new CtyError("CTY_NULL", `expected ${kind}, got null`);
  return Value.payload(value);
}

/** Runs a unary operation on the unmarked operand and puts the marks on the result. */
export function withMarks1(a: Value, run: (a: Value) => Value): Value {
  if (!a.isMarked) return run(a);
  const [plain, marks] = a.unmark();
  return run(plain).withMarks(marks);
}

/** Runs a binary operation on the unmarked operands and puts the marks of both on the result. */
export function withMarks2(a: Value, b: Value, run: (a: Value, b: Value) => Value): Value {
  if (!a.isMarked && !b.isMarked) return run(a, b);
  const [x, left] = a.unmark();
  const [y, right] = b.unmark();
  return run(x, y).withMarks(left.union(right));
}

/** The value without marks at any depth, and the union of them. */
export function unmarkDeep(value: Value): readonly [value: Value, marks: Marks] {
  const [payload, marks] = stripMarks(Value.payload(value));
  return [marks.isEmpty ? value : new Value(value.type, payload), marks];
}
