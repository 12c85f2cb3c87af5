import { Value } from "@stackwright/cty";
import type { BlockSchema, NestedBlockSchema } from "@stackwright/mux/router";

/** A configuration with unknowns where the provider decides: what is known of an object that was not read yet. */
export function unknownComputed({ attributes, blocks }: BlockSchema, config: Value): Value {
  if (config.isNull || !config.isKnown || config.type.kind !== "object") return config;
  const members: [string, Value][] = [];
  for (const [name, value] of config.entries()) {
    const attribute = attributes.get(name);
    const block = blocks.get(name);
    if (attribute?.computed === true && value.isNull) {
      members.push([name, Value.unknown(attribute.type)]);
    } else if (block !== undefined) members.push([name, nestedUnknown(block, value)]);
    else members.push([name, value]);
  }
  return Value.object(members);
}

function nestedUnknown({ nesting, block }: NestedBlockSchema, value: Value): Value {
  if (value.isNull || !value.isKnown) return value;
  const inner = (element: Value) => unknownComputed(block, element);
  switch (nesting) {
    case "single":
    case "group":
      return inner(value);
    case "list":
      if (value.size === 0) return value;
      return value.type.kind === "tuple"
        ? Value.tuple(value.elements().map(inner))
        : Value.list(value.elements().map(inner));
    case "set":
      return value.size === 0 ? value : Value.set(value.elements().map(inner));
    case "map": {
      if (value.size === 0) return value;
      const entries = [...value.entries()].map(([key, element]) => [key, inner(element)] as const);
      return value.type.kind === "object" ? Value.object(entries) : Value.map(entries);
    }
    default:
      return nesting satisfies never;
  }
}
