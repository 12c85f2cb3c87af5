import type { JsonObject, JsonValue } from "@stackwright/base/json";
import { convert, decodeJsonImplied, Type, Value } from "@stackwright/cty";
import {
  type AttributeSchema,
  type BlockSchema,
  emptyObject,
  type NestedBlockSchema,
  type Nesting,
  typeOfBlock,
} from "@stackwright/mux/router";

/** Says what a reference in a configuration stands for at the moment: a value, perhaps unknown. */
export type Resolve = (reference: string) => Value;

/** A member of this name makes an object a reference: `{"$ref": "random_pet.a.id"}`. */
const REFERENCE = "$ref";

/** The object that a JSON configuration of a block evaluates to: null where it says nothing. */
export function configObject(block: BlockSchema, json: JsonObject, resolve: Resolve): Value {
  const unknownNames = Object.keys(json).filter(
    (name) => !block.attributes.has(name) && !block.blocks.has(name),
  );
  if (unknownNames.length > 0) throw new Error(`the block has no ${unknownNames.join(", ")}`);
  return Value.object(
    [...emptyObject(block).entries()].map(([name, empty]) => {
      const given = json[name];
      if (given === undefined) return [name, empty];
      const attribute = block.attributes.get(name);
      if (attribute !== undefined) return [name, attributeValue(attribute, given, resolve)];
      const nested = block.blocks.get(name);
      return [name, nested === undefined ? empty : blocksValue(nested, given, resolve)];
    }),
  );
}

function attributeValue(attribute: AttributeSchema, json: JsonValue, resolve: Resolve): Value {
  const { nested, type } = attribute;
  if (nested === undefined || json === null || isReference(json)) {
    return convert(plainValue(json, resolve), type);
  }
  const object = (element: JsonValue): Value =>
    isObject(element)
      ? Value.object(
          [...nested.attributes].map(([name, inner]) => [
            name,
            attributeValue(inner, element[name] ?? null, resolve),
          ]),
        )
      : convert(plainValue(element, resolve), Type.dynamic);
  return convert(nest(nested.nesting, json, object, Type.dynamic), type);
}

function blocksValue(
  { nesting, block }: NestedBlockSchema,
  json: JsonValue,
  resolve: Resolve,
): Value {
  const object = (element: JsonValue): Value =>
    configObject(block, isObject(element) ? element : {}, resolve);
  // One block may stand without a list around it, as in the JSON syntax of the language.
  const given = nesting === "list" || nesting === "set" ? [json].flat() : json;
  return nest(nesting, given, object, typeOfBlock(block));
}

function nest(
  nesting: Nesting,
  json: JsonValue,
  object: (json: JsonValue) => Value,
  type: Type,
): Value {
  if (nesting === "single" || nesting === "group") return object(json);
  if (nesting === "map") {
    const entries = isObject(json) ? Object.entries(json) : [];
    const values = entries.map(([key, element]) => [key, object(element)] as const);
    return type.hasDynamic ? Value.object(values) : Value.map(values, type);
  }
  const values = (Array.isArray(json) ? (json as readonly JsonValue[]) : []).map(object);
  if (type.hasDynamic) return Value.tuple(values);
  return nesting === "list" ? Value.list(values, type) : Value.set(values, type);
}

/** JSON as the language reads it, with references resolved. */
function plainValue(json: JsonValue, resolve: Resolve): Value {
  if (isReference(json)) return resolve(json[REFERENCE]);
  if (Array.isArray(json)) {
    return Value.tuple(
      (json as readonly JsonValue[]).map((element) => plainValue(element, resolve)),
    );
  }
  if (isObject(json)) {
    return Value.object(
      Object.entries(json).map(([name, member]) => [name, plainValue(member, resolve)]),
    );
  }
  return decodeJsonImplied(JSON.stringify(json));
}

function isObject(json: JsonValue): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

function isReference(json: JsonValue): json is JsonObject & { readonly [REFERENCE]: string } {
  return isObject(json) && typeof json[REFERENCE] === "string";
}

/** The same configuration for the command, with references as templates. */
export function terraformJson(json: JsonValue): JsonValue {
  if (isReference(json)) return `\${${json[REFERENCE]}}`;
  if (Array.isArray(json)) return (json as readonly JsonValue[]).map(terraformJson);
  if (isObject(json)) {
    return Object.fromEntries(
      Object.entries(json).map(([name, member]) => [name, terraformJson(member)]),
    );
  }
  return json;
}
