import type { Value } from "@stackwright/cty";

/** The id of an object for display, where it has one and it is not a secret. */
export function shownId(value: Value | undefined): { readonly id?: string } {
  if (value === undefined || value.isMarked || value.isNull || !value.isKnown) return {};
  if (value.type.kind !== "object" || !value.type.has("id")) return {};
  for (const [name, id] of value.entries()) {
    if (name !== "id" || id.isMarked || id.type.kind !== "string" || !id.isKnown || id.isNull)
      continue;
    return { id: id.asString() };
  }
  return {};
}
