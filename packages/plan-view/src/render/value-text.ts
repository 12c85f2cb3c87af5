import type { Shown } from "../model/shown.ts";

/** A value on one line. Of collections only that they are empty, or how many elements they have. */
export function leafText(value: Shown): string {
  switch (value.kind) {
    case "null":
      return "null";
    case "string":
      return quote(value.text);
    case "number":
      return value.text;
    case "bool":
      return String(value.value);
    case "unknown": {
      const prefix = value.refinement?.prefix;
      return prefix === undefined
        ? "(known after apply)"
        : `${quote(prefix)}... (known after apply)`;
    }
    case "secret":
      return "(sensitive value)";
    case "omitted":
      return `(${value.characters} characters)`;
    case "object":
    case "map":
      return value.members.length === 0 ? "{}" : `{...${value.members.length}}`;
    case "list":
    case "set":
    default:
      return value.items.length === 0 ? "[]" : `[...${value.items.length}]`;
  }
}

/** The name of a member as it is written in an object. */
export function nameText(name: string): string {
  return /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name) ? name : quote(name);
}

function quote(text: string): string {
  return `"${visibleText(text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll("\n", String.raw`\n`))}"`;
}

/** Control, bidirectional and invisible characters as symbols, so that no value can send commands to a terminal or reorder a line. */
export function visibleText(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (found) =>
    found === "\t" ? found : escapeOf(found.codePointAt(0) ?? 0),
  );
}

function escapeOf(point: number): string {
  const digits = point.toString(16);
  return point > 0xff_ff ? String.raw`\u{${digits}}` : String.raw`\u${digits.padStart(4, "0")}`;
}
