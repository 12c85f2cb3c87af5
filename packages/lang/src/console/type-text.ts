import type { Type } from "@stackwright/cty";
import { unreachable } from "../internal/unreachable.ts";

/** A type as the function `type` of the console shows it: structures over several lines. */
export function typeText(type: Type, indent = 0): string {
  switch (type.kind) {
    case "string":
    case "number":
    case "bool":
    case "dynamic":
      return type.kind;
    case "list":
    case "set":
    case "map":
      return collectionText(type, indent);
    case "tuple":
      return bracketed(
        "tuple([",
        "])",
        indent,
        type.elements.map((element) => typeText(element, indent + 4)),
      );
    case "object": {
      const attributes = [...type.attributes()];
      const lines = attributes.map(([name, of]) => `${name}: ${typeText(of, indent + 4)}`);
      return bracketed("object({", "})", indent, lines);
    }
    case "capsule":
      return type.name;
    default:
      return unreachable(type);
  }
}

/** A collection of structures sets them apart by a level of their own. */
function collectionText(
  { kind, element }: Extract<Type, { kind: "list" | "set" | "map" }>,
  indent: number,
): string {
  const structure = element.kind === "tuple" || element.kind === "object";
  if (!structure) return `${kind}(${typeText(element, indent)})`;
  return bracketed(`${kind}(`, ")", indent, [typeText(element, indent + 4)]);
}

function bracketed(open: string, close: string, indent: number, items: readonly string[]): string {
  if (items.length === 0) return open + close;
  const lines = items.map((item) => `${" ".repeat(indent + 4)}${item},\n`);
  return `${open}\n${lines.join("")}${" ".repeat(indent)}${close}`;
}
