import { Type } from "../type/type.ts";
import { Unknown } from "./payload.ts";
import { Value } from "./value.ts";

/** A truth value that is not known yet, but not null: what an undecided comparison gives. */
export const UNKNOWN_TRUTH = new Value(Type.bool, new Unknown({ notNull: true }));

/** Truth as a value; undefined is {@link UNKNOWN_TRUTH}. */
export function truthValue(truth: boolean | undefined): Value {
  return truth === undefined ? UNKNOWN_TRUTH : Value.bool(truth);
}

/** An unknown of the type that is known not to be null. */
export function unknownNotNull(type: Type): Value {
  if (type.kind === "bool") return UNKNOWN_TRUTH;
  return type.kind === "dynamic" ? Value.dynamic : new Value(type, new Unknown({ notNull: true }));
}
