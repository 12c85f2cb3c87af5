import type { JsonObject, JsonValue } from "@stackwright/base/json";
import { Type, Value } from "@stackwright/cty";
import type { BlockSchema } from "@stackwright/mux/router";
import type { Resolve } from "../testing/json-config.ts";

/** What is not known before the apply. */
const LATER: JsonValue = { $ref: "later" };

/** Says of every reference that its value is not known yet. */
export const RESOLVE_LATER: Resolve = () => Value.unknown(Type.dynamic);

/** A configuration in which every attribute that the template sets is not known yet. */
export function laterConfig(block: BlockSchema, config: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [
      name,
      block.attributes.has(name) && value !== null ? LATER : value,
    ]),
  );
}

/** The smallest configuration that a schema allows, with nothing known; undefined where it needs blocks. */
export function smallestConfig(block: BlockSchema): JsonObject | undefined {
  if ([...block.blocks.values()].some(({ minItems }) => minItems > 0)) return undefined;
  const names = [...block.attributes].filter(([, { required }]) => required);
  return Object.fromEntries(names.map(([name]) => [name, LATER]));
}
