import { CtyError } from "../errors.ts";
import { getAttribute, hasElement, index } from "../operation/access.ts";
import type { Type } from "../type/type.ts";
import { Value } from "../value/value.ts";
import { Path, type PathStep } from "./path.ts";

/**
 * The part of a value that the path leads to, with the marks of everything passed on the way. A step into an unknown
 * gives an unknown, and a step to an element of a set gives that element.
 *
 * Throws `CTY_NO_SUCH_ELEMENT`, `CTY_NULL` or `CTY_WRONG_TYPE`, with the path up to the step that failed.
 */
export function applyPath(value: Value, path: Path): Value {
  let current = value;
  let passed = Path.root;
  for (const step of path.steps) {
    passed = passed.step(step);
    try {
      current = applyStep(current, step);
    } catch (error) {
      if (error instanceof CtyError) throw error.within(passed);
      throw error;
    }
  }
  return current;
}

function applyStep(value: Value, step: PathStep): Value {
  if (step.kind === "attribute") return getAttribute(value, step.name);
  if (value.type.kind !== "set") return index(value, step.key);
  const [present, marks] = hasElement(value, step.key).unmark();
  if (!present.isKnown) return Value.unknown(value.type.element).withMarks(marks);
  if (present === Value.true) return step.key.withMarks(marks);
  throw new CtyError("CTY_NO_SUCH_ELEMENT", "the set has no such element");
}

/**
 * The type of the part that the path leads to in values of the type; `dynamic` behind an open type, undefined where no
 * value of the type has such a part.
 */
export function applyPathToType(type: Type, path: Path): Type | undefined {
  let current: Type | undefined = type;
  for (const step of path.steps) {
    if (current === undefined || current.kind === "dynamic") return current;
    current = stepIntoType(current, step);
  }
  return current;
}

function stepIntoType(type: Type, step: PathStep): Type | undefined {
  if (step.kind === "attribute")
    return type.kind === "object" ? type.attribute(step.name) : undefined;
  const [key] = step.key.unmark();
  if (type.kind === "set") return type.element;
  if (type.kind === "map") return key.type.kind === "number" ? undefined : type.element;
  if (key.type.kind === "string") return undefined;
  if (type.kind === "list") return type.element;
  if (type.kind !== "tuple" || !key.isKnown || key.isNull || key.type.kind !== "number")
    return undefined;
  return type.elements[key.asNumber()];
}
