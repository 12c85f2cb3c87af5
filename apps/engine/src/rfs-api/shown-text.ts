import type { Shown } from "@stackwright/plan-view";

/** A shown value as JSON without its secrets; undefined where all of it is one, or is not known. */
function shownJson(shown: Shown): unknown {
  switch (shown.kind) {
    case "null":
      return null;
    case "string":
      return shown.text;
    case "number":
      return Number.isSafeInteger(Number(shown.text)) ? Number(shown.text) : shown.text;
    case "bool":
      return shown.value;
    case "list":
    case "set":
      return shown.items.map((item) => shownJson(item) ?? null);
    case "object":
    case "map":
      return Object.fromEntries(
        shown.members.map(({ name, value }) => [name, shownJson(value) ?? null]),
      );
    case "unknown":
    case "secret":
    case "omitted":
    default:
      return undefined;
  }
}

/** The same as a text: one of a text is itself, of anything else its JSON. */
export function shownText(shown: Shown): string | undefined {
  const value = shownJson(shown);
  if (value === undefined || typeof value === "string") return value;
  return JSON.stringify(value);
}
