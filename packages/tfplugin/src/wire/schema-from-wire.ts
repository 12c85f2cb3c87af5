import { decodeTypeJson, type Type, withoutOptionalAttributes } from "@stackwright/cty";
import {
  type AttributeSchema,
  type BlockSchema,
  type FunctionParameterSchema,
  type FunctionSchema,
  type IdentityAttributeSchema,
  type NestedBlockSchema,
  type Nesting,
  type ProviderSchema,
  type ResourceSchema,
  typeOfNestedAttributes,
} from "@stackwright/mux/router";
import type * as t6 from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../errors.ts";

const NESTINGS: readonly (Nesting | undefined)[] = [
  undefined,
  "single",
  "list",
  "set",
  "map",
  "group",
];

const MARKDOWN = 1;

function kindFromWire(kind: number | undefined): Pick<BlockSchema, "descriptionKind"> {
  return kind === MARKDOWN ? { descriptionKind: "markdown" } : {};
}

/**
 * Everything that a provider declares, from its replies. Throws `TFPLUGIN_SCHEMA_INVALID` with the place of what is no
 * schema.
 */
export function schemaFromWire(
  reply: t6.GetProviderSchema_Response,
  identities: ReadonlyMap<string, t6.ResourceIdentitySchema> = new Map(),
): ProviderSchema {
  return new SchemaReader().provider(reply, identities);
}

/** Reads what a provider declares, one type or all of them. */
export class SchemaReader {
  /** Large schemas spell the same few types again and again. */
  readonly #types = new Map<string, Type>();

  provider(
    reply: t6.GetProviderSchema_Response,
    identities: ReadonlyMap<string, t6.ResourceIdentitySchema>,
  ): ProviderSchema {
    const meta = reply.providerMeta?.block;
    return {
      provider: this.#block(reply.provider?.block, "provider"),
      ...(meta && { providerMeta: this.#block(meta, "provider_meta") }),
      resources: this.#resources(reply.resourceSchemas, identities),
      dataSources: this.#resources(reply.dataSourceSchemas),
      ephemeralResources: this.#resources(reply.ephemeralResourceSchemas),
      functions: new Map(
        [...reply.functions].map(([name, message]) => [name, this.#function(message, name)]),
      ),
    };
  }

  resource(
    type: string,
    { version, block }: t6.Schema,
    identity?: t6.ResourceIdentitySchema,
  ): ResourceSchema {
    return {
      version: Number(version),
      block: this.#block(block, type),
      ...(identity && { identity: this.#identity(identity, type) }),
    };
  }

  #resources(
    schemas: ReadonlyMap<string, t6.Schema>,
    identities: ReadonlyMap<string, t6.ResourceIdentitySchema> = new Map(),
  ): ReadonlyMap<string, ResourceSchema> {
    return new Map(
      [...schemas].map(([type, schema]) => [
        type,
        this.resource(type, schema, identities.get(type)),
      ]),
    );
  }

  #identity(
    { version, identityAttributes }: t6.ResourceIdentitySchema,
    place: string,
  ): NonNullable<ResourceSchema["identity"]> {
    const attributes = identityAttributes.map(
      ({ name, type, ...rest }): readonly [string, IdentityAttributeSchema] => [
        name,
        {
          type: this.#type(type, `${place}.${name}`),
          requiredForImport: rest.requiredForImport,
          optionalForImport: rest.optionalForImport,
          description: rest.description,
        },
      ],
    );
    return { version: Number(version), attributes: new Map(attributes) };
  }

  #block(block: t6.Schema_Block | undefined, place: string): BlockSchema {
    return {
      attributes: this.#attributes(block?.attributes ?? [], place),
      blocks: new Map(
        (block?.blockTypes ?? []).map((nested) => [nested.typeName, this.#nested(nested, place)]),
      ),
      deprecated: block?.deprecated ?? false,
      description: block?.description ?? "",
      ...kindFromWire(block?.descriptionKind),
    };
  }

  #attributes(
    attributes: readonly t6.Schema_Attribute[],
    place: string,
  ): ReadonlyMap<string, AttributeSchema> {
    return new Map(
      attributes.map((attribute) => [attribute.name, this.#attribute(attribute, place)]),
    );
  }

  #attribute(attribute: t6.Schema_Attribute, outer: string): AttributeSchema {
    const place = `${outer}.${attribute.name}`;
    const { required, optional, computed, sensitive, writeOnly, deprecated, description } =
      attribute;
    const kind = kindFromWire(attribute.descriptionKind);
    const flags = {
      required,
      optional,
      computed,
      sensitive,
      writeOnly,
      deprecated,
      description,
      ...kind,
    };
    const { nestedType } = attribute;
    if (nestedType === undefined) return { type: this.#type(attribute.type, place), ...flags };
    const nesting = NESTINGS[nestedType.nesting];
    if (nesting === undefined || nesting === "group") {
      throw invalid(place, "nested attributes have no nesting");
    }
    const attributes = this.#attributes(nestedType.attributes, place);
    return {
      type: typeOfNestedAttributes(nesting, attributes),
      nested: { nesting, attributes },
      ...flags,
    };
  }

  #nested(nested: t6.Schema_NestedBlock, outer: string): NestedBlockSchema {
    const place = `${outer}.${nested.typeName}`;
    const nesting = NESTINGS[nested.nesting];
    if (nesting === undefined) throw invalid(place, "the block has no nesting");
    return {
      nesting,
      block: this.#block(nested.block, place),
      minItems: Number(nested.minItems),
      maxItems: Number(nested.maxItems),
    };
  }

  #function(message: t6.FunctionMessage, name: string): FunctionSchema {
    const { variadicParameter, summary, description, deprecationMessage } = message;
    return {
      parameters: message.parameters.map((parameter) => this.#parameter(parameter, name)),
      ...(variadicParameter && { variadic: this.#parameter(variadicParameter, name) }),
      returnType: this.#type(message.return?.type ?? new Uint8Array(), `${name}()`),
      summary,
      description,
      deprecationMessage,
    };
  }

  #parameter(parameter: t6.Function_Parameter, outer: string): FunctionParameterSchema {
    return {
      name: parameter.name,
      type: this.#type(parameter.type, `${outer}(${parameter.name})`),
      allowNull: parameter.allowNullValue,
      allowUnknown: parameter.allowUnknownValues,
      description: parameter.description,
    };
  }

  #type(bytes: Uint8Array, place: string): Type {
    const key = DECODER.decode(bytes);
    const known = this.#types.get(key);
    if (known !== undefined) return known;
    try {
      const type = withoutOptionalAttributes(decodeTypeJson(key));
      this.#types.set(key, type);
      return type;
    } catch (error) {
      throw invalid(place, "the type cannot be read", error);
    }
  }
}

const DECODER = new TextDecoder();

function invalid(place: string, problem: string, cause?: unknown): TfpluginError {
  return new TfpluginError("TFPLUGIN_SCHEMA_INVALID", `${place}: ${problem}`, {
    subject: place,
    cause,
  });
}
