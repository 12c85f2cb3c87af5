import type { Value } from "@stackwright/cty";

/** What a value is made of, whatever its exact type. */
type ValueShape = "members" | "items" | "set" | "leaf";

/** The shape of a known value that is not null. */
export function shapeOf({ type: { kind } }: Value): ValueShape {
  switch (kind) {
    case "object":
    case "map":
      return "members";
    case "list":
    case "tuple":
      return "items";
    case "set":
      return "set";
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "capsule":
    default:
      return "leaf";
  }
}

/** Members of an unmarked object or map by their names; none of null and unknown. */
export function membersOf(value: Value | undefined): ReadonlyMap<string, Value> {
  if (value === undefined || !value.isKnown || value.isNull) return new Map();
  const [plain] = value.unmark();
  return shapeOf(plain) === "members" ? new Map(plain.entries()) : new Map();
}

/** The text of a string, number or truth value with its kind in front, so that `1` and `"1"` differ. */
export function leafKey(plain: Value): string {
  switch (plain.type.kind) {
    case "string":
      return `s${plain.asString()}`;
    case "number":
      return `n${plain.asBigFloat().text()}`;
    case "bool":
      return `b${plain.asBoolean()}`;
    case "list":
    case "set":
    case "map":
    case "object":
    case "tuple":
    case "capsule":
    case "dynamic":
    default:
      return plain.type.kind;
  }
}
