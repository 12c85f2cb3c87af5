import { Mark, typeName, type Value } from "@stackwright/cty";

/** Longest string that is shown as it is. */
const MAX_SHOWN = 60;

/**
 * What a value is, as the end of a sentence that begins with its name: `is "dev"`, `is a list of
 * string`. Sensitive and ephemeral values are never shown.
 */
export function describeValue(marked: Value): string {
  if (marked.hasMark(Mark.sensitive)) return "has a sensitive value";
  if (marked.hasMark(Mark.ephemeral)) return "has an ephemeral value";
  const [value] = marked.unmark();
  if (!value.isKnown) {
    if (value.type.kind === "dynamic") return "will be known only after apply";
    return `is a ${typeName(value.type)}, known only after apply`;
  }
  if (value.isNull) return "is null";
  switch (value.type.kind) {
    case "bool":
      return `is ${value.asBoolean()}`;
    case "number":
      return `is ${value.asBigFloat().toString()}`;
    case "string": {
      const text = value.asString();
      if (text.length > MAX_SHOWN) return `is a string of ${text.length} characters`;
      return `is ${JSON.stringify(text)}`;
    }
    case "list":
    case "set":
    case "map":
    case "tuple":
      return `is ${typeName(value.type)} with ${plural(value.size, "element")}`;
    case "object": {
      if (value.size === 0) return "is object with no attributes";
      return `is object with ${plural(value.size, "attribute")}`;
    }
    case "capsule":
    case "dynamic":
      return `is ${typeName(value.type)}`;
    default:
      return "is a value";
  }
}

function plural(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
