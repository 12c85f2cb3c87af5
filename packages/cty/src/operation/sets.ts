import { CtyError } from "../errors.ts";
import { typeName } from "../type/names.ts";
import type { SetType } from "../type/type.ts";
import { setHas } from "../value/equality.ts";
import { HAS_UNKNOWN, type Payload, SetElements, Unknown } from "../value/payload.ts";
import { refinedUnknown } from "../value/refine.ts";
import { setPayload } from "../value/set-elements.ts";
import { Value } from "../value/value.ts";
import { withMarks2 } from "./operands.ts";

/**
 * The elements of either set. Unknown elements stay; of an unknown set the result is unknown, with the lengths that
 * follow.
 *
 * This and the other set operations take sets of one element type, pass marks on, and throw `CTY_WRONG_TYPE` and
 * `CTY_NULL`.
 */
export function unionSets(a: Value, b: Value): Value {
  return withSets(a, b, (type, left, right) => {
    if (left instanceof SetElements && right instanceof SetElements) {
      return new Value(type, setPayload(type.element, [...left.items, ...right.items]));
    }
    const [leastLeft, mostLeft] = lengths(left);
    const [leastRight, mostRight] = lengths(right);
    const minLength = Math.max(leastLeft, leastRight);
    return refinedUnknown(type, { notNull: true, minLength, maxLength: mostLeft + mostRight });
  });
}

/** The elements of both sets; unknown where unknowns leave it open. See {@link unionSets}. */
export function intersectSets(a: Value, b: Value): Value {
  return withSets(a, b, (type, left, right) => {
    if (isCertain(left) && isCertain(right)) {
      return select(type, left, (item) => setHas(type.element, right, item));
    }
    const maxLength = Math.min(lengths(left)[1], lengths(right)[1]);
    return refinedUnknown(type, { notNull: true, maxLength });
  });
}

/** The elements of the first set that are not in the second; unknown where unknowns leave it open. See {@link unionSets}. */
export function subtractSets(a: Value, b: Value): Value {
  return withSets(a, b, (type, left, right) => {
    if (isCertain(left) && isCertain(right)) {
      return select(type, left, (item) => !setHas(type.element, right, item));
    }
    return refinedUnknown(type, { notNull: true, maxLength: lengths(left)[1] });
  });
}

/** The elements of exactly one of the sets; unknown where unknowns leave it open. See {@link unionSets}. */
export function symmetricDifferenceSets(a: Value, b: Value): Value {
  return withSets(a, b, (type, left, right) => {
    if (isCertain(left) && isCertain(right)) {
      const { element } = type;
      const items = [
        ...left.items.filter((item) => !setHas(element, right, item)),
        ...right.items.filter((item) => !setHas(element, left, item)),
      ];
      return new Value(type, setPayload(element, items));
    }
    const maxLength = lengths(left)[1] + lengths(right)[1];
    return refinedUnknown(type, { notNull: true, maxLength });
  });
}

type Elements = SetElements | Unknown;

function withSets(
  a: Value,
  b: Value,
  run: (type: SetType, left: Elements, right: Elements) => Value,
): Value {
  return withMarks2(a, b, (x, y) => {
    const { type } = x;
    if (type.kind !== "set" || !type.equals(y.type)) {
      throw new CtyError(
        "CTY_WRONG_TYPE",
        `expected sets of one type, got ${typeName(type)} and ${typeName(y.type)}`,
      );
    }
    return run(type, elements(Value.payload(x)), elements(Value.payload(y)));
  });
}

function elements(payload: Payload): Elements {
  if (payload instanceof SetElements || payload instanceof Unknown) return payload;
  throw new CtyError("CTY_NULL", "a set operation got a null");
}

function isCertain(elements: Elements): elements is SetElements {
  return elements instanceof SetElements && (elements.flags & HAS_UNKNOWN) === 0;
}

function lengths(elements: Elements): readonly [least: number, most: number] {
  if (elements instanceof SetElements) {
    const size = elements.items.length;
    return [isCertain(elements) ? size : Math.min(size, 1), size];
  }
  const { minLength = 0, maxLength = Infinity } = elements.refinement ?? {};
  return [minLength, maxLength];
}

/** Elements of a set that is in order stay in order. */
function select(type: SetType, from: SetElements, keep: (item: Payload) => boolean): Value {
  const items = from.items.filter(keep);
  return new Value(
    type,
    items.length === from.items.length ? from : new SetElements(items, from.flags),
  );
}
