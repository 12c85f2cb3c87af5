import { encodeJson, Mark, type Path, type Value } from "@stackwright/cty";
import {
  arrayNode,
  type JsonNode,
  literalNode,
  objectNode,
  parseJsonNode,
  stringNode,
} from "@stackwright/tfstate";

type MaskNode = JsonNode | undefined;

/**
 * A value as plan JSON shows it: what is unknown is left out of objects and null elsewhere. Secrets are in it, as in the
 * plans of the reference command; the masks say where.
 */
export function valueNode(marked: Value): JsonNode | undefined {
  const [value] = marked.unmark();
  if (!value.isKnown) return undefined;
  if (value.isNull) return literalNode(null);
  switch (value.type.kind) {
    case "object":
    case "map":
      return members(value, valueNode);
    case "list":
    case "set":
    case "tuple":
      return arrayNode(value.elements().map((element) => valueNode(element) ?? literalNode(null)));
    case "string":
      return stringNode(value.asString());
    case "bool":
    case "number":
    case "dynamic":
    case "capsule":
    default:
      return parseJsonNode(encodeJson(value, value.type));
  }
}

function members(
  value: Value,
  nodeOf: (part: Value) => MaskNode,
): Extract<JsonNode, { kind: "object" }> {
  const found: [string, JsonNode][] = [];
  for (const [name, part] of value.entries()) {
    const node = nodeOf(part);
    if (node !== undefined) found.push([name, node]);
  }
  return { kind: "object", members: found };
}

/** Where a value is unknown: `true` there, objects and lists on the way, nothing elsewhere in objects. */
export function unknownMask(marked: Value): JsonNode {
  return maskOf(marked, (value) => !value.unmark()[0].isKnown) ?? emptyMask(marked);
}

/** Where a value is secret, in the same form. */
export function sensitiveMask(marked: Value): JsonNode {
  return maskOf(marked, (value) => value.marks.has(Mark.sensitive)) ?? emptyMask(marked);
}

function emptyMask(marked: Value): JsonNode {
  const [value] = marked.unmark();
  if (value.isKnown && value.isNull) return literalNode(false);
  const { kind } = value.type;
  if (kind === "object" || kind === "map") return objectNode({});
  if (kind === "list" || kind === "set" || kind === "tuple") {
    return arrayNode(value.isKnown ? value.elements().map(emptyMask) : []);
  }
  return literalNode(false);
}

function maskOf(marked: Value, test: (value: Value) => boolean): MaskNode {
  if (test(marked)) return literalNode(true);
  const [value] = marked.unmark();
  if (!value.isKnown || value.isNull) return undefined;
  switch (value.type.kind) {
    case "object":
    case "map":
      return members(value, (part) => maskOf(part, test) ?? compoundMask(part));
    case "list":
    case "set":
    case "tuple":
      return arrayNode(
        value.elements().map((element) => maskOf(element, test) ?? emptyMask(element)),
      );
    case "string":
    case "bool":
    case "number":
    case "dynamic":
    case "capsule":
    default:
      return undefined;
  }
}

/** Compounds are shown even where nothing in them is marked, as the reference command does, and those not known as empty. */
function compoundMask(marked: Value): MaskNode {
  const [value] = marked.unmark();
  if (value.isKnown && value.isNull) return undefined;
  const { kind } = value.type;
  return kind === "object" ||
    kind === "map" ||
    kind === "list" ||
    kind === "set" ||
    kind === "tuple"
    ? emptyMask(marked)
    : undefined;
}

/** `["tags", "a", 0]` */
export function pathNode(path: Path): JsonNode {
  return arrayNode(
    path.steps.map((step) => {
      if (step.kind === "attribute") return stringNode(step.name);
      return valueNode(step.key) ?? literalNode(null);
    }),
  );
}
