import { deepValues, type Path, type Value } from "@stackwright/cty";

/** Where a value has an infinite number, which no state can hold; undefined where it has none. */
export function infinitePart(value: Value): Path | undefined {
  for (const [path, part] of deepValues(value)) {
    const [plain] = part.unmark();
    if (!plain.isKnown || plain.isNull || plain.type.kind !== "number") continue;
    if (plain.asBigFloat().isInfinite) return path;
  }
  return undefined;
}
