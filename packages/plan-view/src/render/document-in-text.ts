import { repeatsName } from "../model/repeats-name.ts";
import type { Shown } from "../model/shown.ts";

/** The object or array that a text holds as JSON, with its numbers as they are written; undefined for any other text, for an empty one, and where a name is in it twice. */
export function documentInText(text: string): Shown | undefined {
  if (!/^\s*[{[]\s*["[{\dtfn-]/.test(text)) return undefined;
  try {
    // Each number becomes what the text has: as a number it would be another one.
    const parsed: unknown = JSON.parse(text, (_name, value: unknown, ...more: unknown[]) =>
      typeof value === "number" ? new WrittenNumber(value, more[0]) : value,
    );
    return repeatsName(text) ? undefined : shownOf(parsed);
  } catch {
    return undefined;
  }
}

/** Deeper ones are shown as the text that they are. */
const MAX_DEPTH = 100;

class WrittenNumber {
  readonly text: string;

  constructor(value: number, context: unknown) {
    const source = (context as { readonly source?: unknown } | undefined)?.source;
    // Older browsers do not say what is written.
    if (typeof source !== "string" && !Number.isSafeInteger(value)) throw new RangeError("inexact");
    this.text = typeof source === "string" ? source : String(value);
  }
}

function shownOf(value: unknown, depth = 0): Shown {
  if (depth > MAX_DEPTH) throw new RangeError("too deep");
  // In a document null is a value, which is shown as others are.
  if (value === null) return { kind: "number", text: "null" };
  if (value instanceof WrittenNumber) return { kind: "number", text: value.text };
  if (typeof value === "boolean") return { kind: "bool", value };
  if (typeof value === "string") return { kind: "string", text: value };
  if (Array.isArray(value))
    return { kind: "list", items: value.map((item) => shownOf(item, depth + 1)) };
  const members = Object.entries(value as object)
    .map(([name, member]: [string, unknown]) => ({ name, value: shownOf(member, depth + 1) }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { kind: "object", members };
}
