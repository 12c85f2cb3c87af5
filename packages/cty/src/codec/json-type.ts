import { CtyError } from "../errors.ts";
import { MAX_TYPE_DEPTH, Type } from "../type/type.ts";
import { unreachable } from "../unreachable.ts";
import { JsonReader, jsonString, jsonText } from "./json-text.ts";

/**
 * A type constraint as JSON: `"string"`, `["list","number"]`, `["object",{"a":"bool"},["a"]]` with the names of optional
 * attributes last, `"dynamic"` for any type. Attributes are in code-point order, and there is no white space. Source:
 * the plugin protocol's type constraints.
 *
 * Throws `CTY_UNSERIALIZABLE` for capsule types.
 */
export function encodeTypeJson(type: Type): string {
  switch (type.kind) {
    case "string":
    case "number":
    case "bool":
    case "dynamic":
      return `"${type.kind}"`;
    case "list":
    case "set":
    case "map":
      return `["${type.kind}",${encodeTypeJson(type.element)}]`;
    case "tuple":
      return `["tuple",[${type.elements.map(encodeTypeJson).join(",")}]]`;
    case "object": {
      const attributes = Array.from(
        type.attributes(),
        ([name, attribute]) => `${jsonString(name)}:${encodeTypeJson(attribute)}`,
      );
      const optional = type.names.filter((name) => type.optional.has(name)).map(jsonString);
      const tail = optional.length === 0 ? "" : `,[${optional.join(",")}]`;
      return `["object",{${attributes.join(",")}}${tail}]`;
    }
    case "capsule":
      throw new CtyError("CTY_UNSERIALIZABLE", `the type ${type.name} has no JSON form`);
    default:
      return unreachable(type);
  }
}

/**
 * Reads what {@link encodeTypeJson} writes. Throws `CTY_JSON` for anything else, and `CTY_TOO_DEEP` for types nested too
 * deeply.
 */
export function decodeTypeJson(source: string | Uint8Array): Type {
  const reader = new JsonReader(jsonText(source));
  const type = readType(reader, 0);
  reader.end();
  return type;
}

/** Reads a type at the reader's place and stops behind it. */
export function readType(reader: JsonReader, depth: number): Type {
  if (depth > MAX_TYPE_DEPTH) {
    throw new CtyError("CTY_TOO_DEEP", `types may be nested ${MAX_TYPE_DEPTH} levels deep`);
  }
  if (reader.peek() === '"') return primitive(reader);
  if (!reader.take("[")) throw reader.error("expected a type");
  const kind = reader.string();
  reader.expect(",");
  const type = readCompound(reader, kind, depth + 1);
  reader.expect("]");
  return type;
}

function primitive(reader: JsonReader): Type {
  const name = reader.string();
  if (name === "string") return Type.string;
  if (name === "number") return Type.number;
  if (name === "bool") return Type.bool;
  if (name === "dynamic") return Type.dynamic;
  throw reader.error("unknown type name");
}

function readCompound(reader: JsonReader, kind: string, depth: number): Type {
  if (kind === "list" || kind === "set" || kind === "map")
    return Type[kind](readType(reader, depth));
  if (kind === "tuple") {
    const elements: Type[] = [];
    reader.array(() => elements.push(readType(reader, depth)));
    return Type.tuple(elements);
  }
  if (kind !== "object") throw reader.error("unknown type kind");
  const attributes = new Map<string, Type>();
  reader.object((name) => attributes.set(name, readType(reader, depth)));
  if (!reader.take(",")) return Type.object(attributes);
  const optional: string[] = [];
  reader.array(() => optional.push(reader.string()));
  return Type.object(attributes, { optional });
}
