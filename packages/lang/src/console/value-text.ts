import { Mark, type Type, typeName, type Value } from "@stackwright/cty";

/**
 * A value as the console shows it: as an expression that gives the value, with the functions that
 * say its type around it. What is sensitive, ephemeral or unknown is shown as such only.
 */
export function valueText(marked: Value, indent = 0): string {
  if (!marked.isKnown) return "(known after apply)";
  if (marked.hasMark(Mark.sensitive)) return "(sensitive value)";
  if (marked.hasMark(Mark.ephemeral)) return "(ephemeral value)";
  const [value] = marked.unmark();
  if (value.isNull) return nullText(value.type);
  switch (value.type.kind) {
    case "string":
      return stringText(value.asString(), indent);
    case "number":
      return value.asBigFloat().toString();
    case "bool":
      return String(value.asBoolean());
    case "object":
      return mappingText(value, indent);
    case "map":
      return `tomap(${mappingText(value, indent)})`;
    case "tuple":
      return sequenceText(value, indent);
    case "list":
      return `tolist(${sequenceText(value, indent)})`;
    case "set":
      return `toset(${sequenceText(value, indent)})`;
    case "capsule":
    case "dynamic":
    default:
      return `(${typeName(value.type)})`;
  }
}

function nullText(type: Type): string {
  switch (type.kind) {
    case "dynamic":
      return "null";
    case "string":
    case "number":
    case "bool":
      return `to${type.kind}(null)`;
    case "list":
    case "set":
    case "map":
      return `to${type.kind}(null) /* of ${typeName(type.element)} */`;
    case "capsule":
    case "object":
    case "tuple":
    default:
      return `null /* ${typeName(type)} */`;
  }
}

/** Several lines as a heredoc, with a marker that no line of the text consists of. */
function stringText(text: string, indent: number): string {
  const lines = text.split("\n");
  if (lines.length < 2) return quotedText(text);
  let marker = "EOT";
  while (lines.some((line) => line.trim() === marker)) marker += "_";
  const pad = " ".repeat(indent);
  const body = lines.map((line) => `${pad}${line}\n`).join("");
  return `${indent > 0 ? "<<-" : "<<"}${marker}\n${body}${pad}${marker}`;
}

const SHORT: Readonly<Record<string, string | undefined>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  '"': '\\"',
  "\\": "\\\\",
};

const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** Text in quotes, with escapes for what cannot be seen. */
function quotedText(text: string): string {
  const chars = Array.from(text, (char) => {
    const short = SHORT[char];
    if (short !== undefined) return short;
    if (PRINTABLE.test(char)) return char;
    const code = char.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    if (code < 0x80) return `\\x${hex.padStart(2, "0")}`;
    return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  });
  return `"${chars.join("")}"`;
}

function mappingText(value: Value, indent: number): string {
  const pad = " ".repeat(indent + 2);
  const lines = [...value.entries()].map(
    ([key, element]) =>
      `\n${pad}${stringText(key, indent + 2)} = ${valueText(element, indent + 2)}`,
  );
  return `{${lines.join("")}${lines.length === 0 ? "" : `\n${" ".repeat(indent)}`}}`;
}

function sequenceText(value: Value, indent: number): string {
  const pad = " ".repeat(indent + 2);
  const lines = value.elements().map((element) => `\n${pad}${valueText(element, indent + 2)},`);
  return `[${lines.join("")}${lines.length === 0 ? "" : `\n${" ".repeat(indent)}`}]`;
}
