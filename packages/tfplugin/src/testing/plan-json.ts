import type { JsonValue } from "@stackwright/base/json";
import { encodeJson, type Value } from "@stackwright/cty";

/*
 * Values as `terraform show -json` shows them: what is unknown is left out of objects and null in lists, and a second
 * value says what is unknown. Source: Terraform's JSON output format for plans and states.
 */

/** The known part of a value. */
export function knownJson(value: Value): JsonValue {
  if (!value.isKnown || value.isNull) return null;
  const { kind } = value.type;
  if (kind === "object" || kind === "map") {
    return Object.fromEntries(
      [...value.entries()]
        .filter(([, part]) => part.isKnown)
        .map(([name, part]) => [name, knownJson(part)]),
    );
  }
  if (kind === "list" || kind === "set" || kind === "tuple") return value.elements().map(knownJson);
  return JSON.parse(encodeJson(value)) as JsonValue;
}

/** Which parts of a value are unknown; false where none is. */
export function unknownJson(value: Value): JsonValue {
  if (!value.isKnown) return true;
  if (value.isNull) return false;
  const { kind } = value.type;
  if (kind === "object" || kind === "map") {
    if (value.size === 0) return false;
    return Object.fromEntries(
      [...value.entries()]
        .map(([name, part]) => [name, unknownJson(part)] as const)
        .filter(([, part]) => part !== false),
    );
  }
  if (kind === "list" || kind === "set" || kind === "tuple") {
    return value.size === 0 ? false : value.elements().map(unknownJson);
  }
  return false;
}
