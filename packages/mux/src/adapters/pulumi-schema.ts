import type { JsonObject, JsonValue } from "@stackwright/base/json";
import type { Type } from "@stackwright/cty";
import type { PackageSchema } from "../core/package-schema.ts";
import type { AttributeSchema, BlockSchema, ProviderSchema } from "../router/schema.ts";
import { typeOfBlock } from "../router/type-of-block.ts";

/** The token of a type in a Pulumi package made of a lifecycle provider. */
function tokenOf(pkg: string, type: string): string {
  return `${pkg}:index:${type}`;
}

/** The type that a token names, or `undefined` for a token of another package. */
export function typeOfToken(pkg: string, token: string): string | undefined {
  const prefix = `${pkg}:index:`;
  return token.startsWith(prefix) ? token.slice(prefix.length) : undefined;
}

/**
 * The package schema of a lifecycle provider: resource types under `<package>:index:<type>`, data sources as
 * functions. Object types inside attributes and blocks become named types of the package.
 */
export function toPackageSchema(
  name: string,
  version: string,
  schema: ProviderSchema,
): PackageSchema {
  const types = new Map<string, JsonValue>();
  const describe = (owner: string, block: BlockSchema) =>
    new BlockProperties(name, owner, block, types);
  const config = describe("config", schema.provider);
  const resources = [...schema.resources].map(([type, { block }]) => {
    const properties = describe(type, block);
    return [
      tokenOf(name, type),
      {
        ...textOf(block),
        inputProperties: properties.inputs(),
        requiredInputs: properties.required(),
        properties: properties.all(),
        required: properties.required(),
      },
    ] as const;
  });
  const functions = [...schema.dataSources].map(([type, { block }]) => {
    const properties = describe(`data_${type}`, block);
    return [
      tokenOf(name, type),
      {
        ...textOf(block),
        inputs: {
          type: "object",
          properties: properties.inputs(),
          required: properties.required(),
        },
        outputs: { type: "object", properties: properties.all() },
      },
    ] as const;
  });
  return {
    name,
    version,
    config: { variables: config.inputs(), defaults: config.required() },
    provider: { inputProperties: config.inputs(), requiredInputs: config.required() },
    resources: Object.fromEntries(resources),
    functions: Object.fromEntries(functions),
    types: Object.fromEntries(types),
  };
}

/** Properties of one block, registering the object types that they use. */
class BlockProperties {
  readonly #pkg: string;
  readonly #owner: string;
  readonly #block: BlockSchema;
  readonly #types: Map<string, JsonValue>;

  constructor(pkg: string, owner: string, block: BlockSchema, types: Map<string, JsonValue>) {
    this.#pkg = pkg;
    this.#owner = owner;
    this.#block = block;
    this.#types = types;
  }

  all(): JsonObject {
    return this.#properties(() => true);
  }

  /** What a program may set: everything but what the provider alone decides. */
  inputs(): JsonObject {
    return this.#properties((attribute) => attribute.required || attribute.optional);
  }

  required(): string[] {
    return [...this.#block.attributes].filter(([, { required }]) => required).map(([name]) => name);
  }

  #properties(isWanted: (attribute: AttributeSchema) => boolean): JsonObject {
    const attributes = [...this.#block.attributes]
      .filter(([, attribute]) => isWanted(attribute))
      .map(([name, attribute]) => {
        const { type, sensitive, deprecated, description } = attribute;
        return [
          name,
          {
            ...this.#type(type, name),
            ...(sensitive && { secret: true }),
            ...(deprecated && { deprecationMessage: "This attribute is deprecated." }),
            ...(description !== "" && { description }),
          },
        ] as const;
      });
    const types = typeOfBlock(this.#block);
    const blocks = [...this.#block.blocks.keys()].map((name) => {
      const type = types.attribute(name);
      return [name, type === undefined ? ANY : this.#type(type, name)] as const;
    });
    return Object.fromEntries([...attributes, ...blocks]);
  }

  #type(type: Type, path: string): JsonObject {
    switch (type.kind) {
      case "string":
      case "number":
        return { type: type.kind };
      case "bool":
        return { type: "boolean" };
      case "list":
      case "set":
        return { type: "array", items: this.#type(type.element, path) };
      case "map":
        return { type: "object", additionalProperties: this.#type(type.element, path) };
      case "object": {
        const token = `${this.#pkg}:index:${this.#owner}_${path}`;
        const properties = [...type.attributes()].map(
          ([name, member]) => [name, this.#type(member, `${path}_${name}`)] as const,
        );
        this.#types.set(token, { type: "object", properties: Object.fromEntries(properties) });
        return { $ref: `#/types/${encodeURIComponent(token)}` };
      }
      case "tuple":
      case "dynamic":
      case "capsule":
        return ANY;
      default:
        return type satisfies never;
    }
  }
}

const ANY: JsonObject = { $ref: "pulumi.json#/Any" };

function textOf({ description, deprecated }: BlockSchema): JsonObject {
  return {
    ...(description !== "" && { description }),
    ...(deprecated && { deprecationMessage: "This resource is deprecated." }),
  };
}
