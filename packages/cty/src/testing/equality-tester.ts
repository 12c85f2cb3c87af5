import { BigFloat, Marks, Path, Value } from "../index.ts";

/**
 * Compares what this package makes by what it means, for `expect.addEqualityTesters([ctyEquality])`. Without it a test
 * runner compares the fields that it sees, and values hide their content: two values of one type would always pass for
 * equal. Undefined for anything else, which leaves it to the runner.
 */
export function ctyEquality(a: unknown, b: unknown): boolean | undefined {
  if (a instanceof Value || b instanceof Value) {
    return a instanceof Value && b instanceof Value && a.rawEquals(b);
  }
  if (a instanceof BigFloat || b instanceof BigFloat) {
    if (!(a instanceof BigFloat) || !(b instanceof BigFloat)) return false;
    return a.precision === b.precision && a.compare(b) === 0 && a.negative === b.negative;
  }
  if (a instanceof Path || b instanceof Path) {
    return a instanceof Path && b instanceof Path && a.equals(b);
  }
  if (a instanceof Marks || b instanceof Marks) {
    return a instanceof Marks && b instanceof Marks && a.equals(b);
  }
  return undefined;
}
