import { encodeTypeJson, type Type } from "@stackwright/cty";
import type {
  AttributeSchema,
  BlockSchema,
  DescriptionKind,
  FunctionParameterSchema,
  FunctionSchema,
  NestedBlockSchema,
  Nesting,
  ProviderSchema,
  ResourceSchema,
} from "@stackwright/mux/router";
import type * as t6 from "@stackwright/proto/tfplugin6";

const NESTINGS: Readonly<Record<Nesting, t6.Schema_NestedBlock_NestingMode>> = {
  single: 1,
  list: 2,
  set: 3,
  map: 4,
  group: 5,
};

const PLAIN = 0;
const MARKDOWN = 1;
const NO_BYTES = new Uint8Array();
const ENCODER = new TextEncoder();

/** What a provider declares, as it answers it. */
export function schemaToWire(
  schema: ProviderSchema,
): Omit<t6.GetProviderSchema_Response, "diagnostics" | "serverCapabilities"> {
  return {
    provider: { version: 0n, block: blockToWire(schema.provider) },
    providerMeta: schema.providerMeta && { version: 0n, block: blockToWire(schema.providerMeta) },
    resourceSchemas: resourcesToWire(schema.resources),
    dataSourceSchemas: resourcesToWire(schema.dataSources),
    ephemeralResourceSchemas: resourcesToWire(schema.ephemeralResources),
    functions: new Map([...schema.functions].map(([name, f]) => [name, functionToWire(f)])),
    listResourceSchemas: new Map(),
    stateStoreSchemas: new Map(),
    actionSchemas: new Map(),
  };
}

/** The identities of a provider's resources, as it answers them. */
export function identitiesToWire(
  resources: ReadonlyMap<string, ResourceSchema>,
): Map<string, t6.ResourceIdentitySchema> {
  return new Map(
    [...resources].flatMap(([type, { identity }]) => {
      if (identity === undefined) return [];
      const identityAttributes = [...identity.attributes].map(([name, attribute]) => ({
        name,
        type: typeToWire(attribute.type),
        requiredForImport: attribute.requiredForImport,
        optionalForImport: attribute.optionalForImport,
        description: attribute.description,
      }));
      return [[type, { version: BigInt(identity.version), identityAttributes }] as const];
    }),
  );
}

function resourcesToWire(schemas: ReadonlyMap<string, ResourceSchema>): Map<string, t6.Schema> {
  return new Map(
    [...schemas].map(([type, { version, block }]) => [
      type,
      { version: BigInt(version), block: blockToWire(block) },
    ]),
  );
}

function blockToWire(block: BlockSchema): t6.Schema_Block {
  return {
    version: 0n,
    attributes: attributesToWire(block.attributes),
    blockTypes: [...block.blocks].map(([name, nested]) => nestedToWire(name, nested)),
    description: block.description,
    descriptionKind: kindToWire(block.descriptionKind),
    deprecated: block.deprecated,
    deprecationMessage: "",
  };
}

function attributesToWire(attributes: ReadonlyMap<string, AttributeSchema>): t6.Schema_Attribute[] {
  return [...attributes].map(([name, { nested, type, ...flags }]) => ({
    ...flags,
    name,
    type: nested === undefined ? typeToWire(type) : NO_BYTES,
    descriptionKind: kindToWire(flags.descriptionKind),
    nestedType: nested && {
      attributes: attributesToWire(nested.attributes),
      nesting: NESTINGS[nested.nesting] as t6.Schema_Object_NestingMode,
      minItems: 0n,
      maxItems: 0n,
    },
    deprecationMessage: "",
  }));
}

function kindToWire(kind: DescriptionKind | undefined): t6.StringKind {
  return kind === "markdown" ? MARKDOWN : PLAIN;
}

function nestedToWire(typeName: string, nested: NestedBlockSchema): t6.Schema_NestedBlock {
  return {
    typeName,
    block: blockToWire(nested.block),
    nesting: NESTINGS[nested.nesting],
    minItems: BigInt(nested.minItems),
    maxItems: BigInt(nested.maxItems),
  };
}

function functionToWire(schema: FunctionSchema): t6.FunctionMessage {
  return {
    parameters: schema.parameters.map(parameterToWire),
    variadicParameter: schema.variadic && parameterToWire(schema.variadic),
    return: { type: typeToWire(schema.returnType) },
    summary: schema.summary,
    description: schema.description,
    descriptionKind: PLAIN,
    deprecationMessage: schema.deprecationMessage,
  };
}

function parameterToWire(parameter: FunctionParameterSchema): t6.Function_Parameter {
  return {
    name: parameter.name,
    type: typeToWire(parameter.type),
    allowNullValue: parameter.allowNull,
    allowUnknownValues: parameter.allowUnknown,
    description: parameter.description,
    descriptionKind: PLAIN,
  };
}

function typeToWire(type: Type): Uint8Array {
  return ENCODER.encode(encodeTypeJson(type));
}
