import { formatExact, isList, isObject, type Json } from "./exact-json.ts";

/** Widest value on one line. */
const WIDTH = 150;

/** JSON for readers and for line-wise comparison: short values on one line, members in their order. */
export function prettyJson(value: Json): string {
  return `${pretty(value, 0)}\n`;
}

function pretty(value: Json, indent: number): string {
  const flat = formatExact(value);
  if (flat.length + indent <= WIDTH) return flat;
  const pad = " ".repeat(indent + 2);
  const end = " ".repeat(indent);
  if (isList(value)) {
    return `[\n${value.map((item) => pad + pretty(item, indent + 2)).join(",\n")}\n${end}]`;
  }
  if (isObject(value)) {
    const members = Object.entries(value).map(
      ([name, member]) => `${pad}${JSON.stringify(name)}: ${pretty(member, indent + 2)}`,
    );
    return `{\n${members.join(",\n")}\n${end}}`;
  }
  return flat;
}
