import { Path } from "../path/path.ts";
import type { Value } from "../value/value.ts";
import { forEachPart, type Part, partsOf, withParts } from "./parts.ts";

/**
 * Calls `visit` for the value and then for all its parts, the whole before its parts, parts in iteration order. Where
 * `visit` returns false the parts of that value are left out. Null and unknown values have no parts.
 */
export function walk(value: Value, visit: (path: Path, value: Value) => boolean | void): void {
  const step = (path: Path, current: Value): void => {
    if (visit(path, current) !== false) forEachPart(path, current, step);
  };
  step(Path.root, value);
}

/** The value and all its parts with their paths, in the order of {@link walk}, one at a time. */
export function* deepValues(value: Value): Generator<Part> {
  const pending: Part[] = [[Path.root, value]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    yield next;
    for (const part of partsOf(...next).reverse()) pending.push(part);
  }
}

/** What {@link transform} does at each value. Both members may return another value, also of another type. */
export interface Transformer {
  /** Before the parts: what is returned is entered instead. */
  readonly enter?: (path: Path, value: Value) => Value;
  /** After the parts: gets the value made of the transformed parts. */
  readonly exit?: (path: Path, value: Value) => Value;
}

/**
 * A value with every part replaced by what the transformer makes of it. A function stands for `exit`. A value without a
 * changed part stays identical. Marks of a whole stay on it; marks put on elements of a set move to the set.
 *
 * Throws `CTY_INVALID_VALUE` where the new elements of a collection are not of one type.
 */
export function transform(
  value: Value,
  transformer: Transformer | ((path: Path, value: Value) => Value),
): Value {
  const { enter, exit }: Transformer =
    typeof transformer === "function" ? { exit: transformer } : transformer;
  const step = (path: Path, given: Value): Value => {
    const current = enter === undefined ? given : enter(path, given);
    let changed = false;
    const transformed: Value[] = [];
    forEachPart(path, current, (partPath, part) => {
      const result = step(partPath, part);
      changed ||= result !== part;
      transformed.push(result);
    });
    const whole = changed ? withParts(current, transformed) : current;
    return exit === undefined ? whole : exit(path, whole);
  };
  return step(Path.root, value);
}
