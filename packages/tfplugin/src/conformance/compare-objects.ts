import type { Value } from "@stackwright/cty";

/** Names of attributes in which two objects differ; values of attributes are never part of a message. */
export function differingNames(
  left: Value,
  right: Value,
  ignored: readonly string[] = [],
): readonly string[] {
  if (left.isNull || right.isNull) return left.isNull === right.isNull ? [] : ["the whole object"];
  const other = new Map(right.entries());
  return [...left.entries()]
    .filter(([name, value]) => {
      const counterpart = other.get(name);
      return counterpart === undefined || !value.rawEquals(counterpart);
    })
    .map(([name]) => name)
    .filter((name) => !ignored.includes(name));
}
