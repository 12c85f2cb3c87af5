import { Value } from "../value/value.ts";
import { transform } from "./walk.ts";

/**
 * The value with a null in place of every unknown, for formats that have no unknowns. Marks stay.
 */
export function unknownAsNull(value: Value): Value {
  if (value.isWhollyKnown) return value;
  return transform(value, (_path, part) =>
    part.isKnown ? part : Value.null(part.type).withMarksOf(part),
  );
}
