import { convert, type Path, Value } from "@stackwright/cty";
import {
  decodeStruct,
  encodeStruct,
  type PropertyMap,
  type PropertyValue,
  secretProperty,
  stringProperty,
} from "@stackwright/proto/property";
import type { EncodedStruct } from "@stackwright/proto/struct";
import { emptyObject } from "../router/propose-state.ts";
import type { BlockSchema, NestedBlockSchema } from "../router/schema.ts";
import { typeOfBlock } from "../router/type-of-block.ts";
import { fromProperties, toProperties } from "./property-values.ts";
import { shapesOfObject } from "./type-shapes.ts";

/** The reserved output that carries what Pulumi's protocol has no place for. */
export const META_KEY = "__meta";

/** What travels in {@link META_KEY}. */
export interface ObjectMeta {
  readonly schemaVersion: number;
  readonly privateBytes: Uint8Array;
}

/**
 * Objects of a block as Pulumi properties and back. Null attributes are absent properties; secrets are marked by the
 * schema and by the paths that a reply names.
 */
export class ObjectProperties {
  readonly #block: BlockSchema;
  readonly #type: ReturnType<typeof typeOfBlock>;

  constructor(block: BlockSchema) {
    this.#block = block;
    this.#type = typeOfBlock(block);
  }

  get absent(): Value {
    return Value.null(this.#type);
  }

  /** Properties of an object, with its meta data if it has been made. */
  encode(object: Value, sensitive: readonly Path[] = [], meta?: ObjectMeta): EncodedStruct {
    const properties = new Map<string, PropertyValue>(
      toProperties(shapesOfObject(this.#type), object),
    );
    const secretNames = new Set(
      sensitive.flatMap((path) => {
        const [first] = path.steps;
        return first?.kind === "attribute" ? [first.name] : [];
      }),
    );
    for (const [name, property] of properties) {
      if (this.#block.attributes.get(name)?.sensitive === true || secretNames.has(name)) {
        properties.set(name, secretProperty(property));
      }
    }
    if (meta !== undefined) {
      const text = JSON.stringify({
        schema_version: meta.schemaVersion,
        private: Buffer.from(meta.privateBytes).toString("base64"),
      });
      properties.set(META_KEY, stringProperty(text));
    }
    return encodeStruct(properties);
  }

  /** The inputs of an object: what a program could have set. */
  encodeInputs(object: Value): EncodedStruct {
    const isInput = (name: string) => {
      const attribute = this.#block.attributes.get(name);
      return attribute === undefined || attribute.required || attribute.optional;
    };
    const members = [...object.entries()].map(
      ([name, value]) => [name, isInput(name) ? value : Value.null(value.type)] as const,
    );
    return this.encode(Value.object(members));
  }

  /** The object that properties mean. Throws a `ProviderFailure` for one that does not fit. */
  decode(properties: EncodedStruct | undefined): Value {
    const decoded = withoutSecrets(decodeStruct(properties ?? EMPTY));
    const { value } = fromProperties(shapesOfObject(this.#type), decoded);
    return completeBlock(this.#block, convert(value, this.#type));
  }

  meta(properties: EncodedStruct | undefined): ObjectMeta {
    const property = decodeStruct(properties ?? EMPTY).get(META_KEY);
    const inner = property?.kind === "secret" ? property.value : property;
    if (inner?.kind !== "string") return { schemaVersion: 0, privateBytes: new Uint8Array() };
    const parsed = JSON.parse(inner.value) as { schema_version?: number; private?: string };
    return {
      schemaVersion: parsed.schema_version ?? 0,
      privateBytes: Buffer.from(parsed.private ?? "", "base64"),
    };
  }
}

const EMPTY = encodeStruct(new Map());

function withoutSecrets(properties: PropertyMap): PropertyMap {
  return new Map(
    [...properties].map(([name, property]) => [
      name,
      property.kind === "secret" ? property.value : property,
    ]),
  );
}

/** Collections of blocks are never null: where nothing was said they are empty, at every depth. */
function completeBlock(block: BlockSchema, object: Value): Value {
  if (object.isNull || !object.isKnown) return object;
  const empty = new Map(emptyObject(block).entries());
  return Value.object(
    [...object.entries()].map(([name, value]) => {
      const nested = block.blocks.get(name);
      if (nested === undefined) return [name, value] as const;
      if (value.isNull) return [name, empty.get(name) ?? value] as const;
      return [name, completeNested(nested, value)] as const;
    }),
  );
}

function completeNested({ nesting, block }: NestedBlockSchema, value: Value): Value {
  if (!value.isKnown || value.size === 0) return value;
  switch (nesting) {
    case "single":
    case "group":
      return completeBlock(block, value);
    case "list": {
      const elements = value.elements().map((element) => completeBlock(block, element));
      return value.type.kind === "list" ? Value.list(elements) : Value.tuple(elements);
    }
    case "set":
      return Value.set(value.elements().map((element) => completeBlock(block, element)));
    case "map": {
      const entries = [...value.entries()].map(
        ([key, element]) => [key, completeBlock(block, element)] as const,
      );
      return value.type.kind === "map" ? Value.map(entries) : Value.object(entries);
    }
    default:
      return nesting satisfies never;
  }
}
