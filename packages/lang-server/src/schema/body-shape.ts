import { typeExpression } from "@stackwright/cty";
import type { Block } from "@stackwright/lang";
import { impliedProviderName } from "@stackwright/lang";
import { ProviderAddress } from "@stackwright/provider-source";
import { DYNAMIC_BLOCK, type LanguageBlock, TOP_BLOCKS } from "./language-blocks.ts";
import type { DescribedBlock, ProviderSchemas, SchemasBySource } from "./provider-schemas.ts";

/** An argument that may stand in a body. */
export interface ArgumentShape {
  readonly description: string;
  /** As it is written in a configuration; undefined where the language decides what it is. */
  readonly type?: string;
  readonly required: boolean;
  /** Decided by the provider alone, so that a configuration cannot set it. */
  readonly readOnly: boolean;
  readonly deprecated: boolean;
  readonly sensitive: boolean;
  readonly values: readonly string[];
}

/** Blocks of a type that may stand in a body. */
export interface BlockShape {
  readonly description: string;
  readonly labels: readonly string[];
  readonly required: boolean;
  readonly deprecated: boolean;
}

/** What may stand in a body. */
interface BodyShape {
  readonly description: string;
  readonly arguments: ReadonlyMap<string, ArgumentShape>;
  readonly blocks: ReadonlyMap<string, BlockShape>;
  /** Whether the schema of its provider is among this. */
  readonly isComplete: boolean;
}

/** What a module tells about the names in it. */
export interface ShapeContext {
  readonly schemas: SchemasBySource;
  /** The sources of the required providers by local name. */
  readonly requiredProviders: ReadonlyMap<string, string>;
  /** The inputs of the module that a call names. */
  readonly inputs: (call: string) => ReadonlyMap<string, ArgumentShape> | undefined;
}

/** The shape of the top of a file. */
const TOP_SHAPE: BodyShape = shapeOf({ description: "", blocks: TOP_BLOCKS }, undefined, true);

/** The shape of the body of the innermost of nested blocks; undefined where a block is not known. */
export function bodyShape(
  blocks: readonly Pick<Block, "type" | "labels">[],
  context: ShapeContext,
): BodyShape | undefined {
  const [top, ...nested] = blocks;
  if (top === undefined) return TOP_SHAPE;
  let language: LanguageBlock | undefined = TOP_BLOCKS[top.type];
  if (language === undefined) return undefined;
  let provider = providerBody(top, context);
  let isComplete = provider !== undefined || !hasProvider(top.type);
  let dynamic: DescribedBlock | undefined;
  for (const block of nested) {
    if (block.type === "data" && language === TOP_BLOCKS.check) {
      [language, provider] = [TOP_BLOCKS.data, providerBody(block, context)];
      isComplete = provider !== undefined;
    } else if (block.type === "dynamic" && provider !== undefined) {
      dynamic = provider.blocks.get(block.labels[0]?.value ?? "")?.block;
      [language, provider] = [DYNAMIC_BLOCK, undefined];
    } else if (block.type === "content" && language === DYNAMIC_BLOCK) {
      [language, provider, isComplete] = [undefined, dynamic, dynamic !== undefined];
    } else {
      const own: LanguageBlock | undefined = Object.hasOwn(language?.blocks ?? {}, block.type)
        ? language?.blocks?.[block.type]
        : undefined;
      provider = own === undefined ? provider?.blocks.get(block.type)?.block : undefined;
      language = own;
      isComplete = own !== undefined || provider !== undefined;
    }
    if (language === undefined && provider === undefined) return undefined;
  }
  const shape = shapeOf(language, provider, isComplete);
  if (top.type !== "module" || nested.length > 0) return shape;
  const inputs = context.inputs(top.labels[0]?.value ?? "");
  if (inputs === undefined) return { ...shape, isComplete: false };
  return { ...shape, arguments: new Map([...shape.arguments, ...inputs]) };
}

/** The types of resources, data sources or ephemeral resources that are known, with their schemas. */
export function knownTypes(
  blockType: string,
  context: Pick<ShapeContext, "schemas" | "requiredProviders">,
): Map<string, DescribedBlock> {
  const found = new Map<string, DescribedBlock>();
  for (const schemas of context.schemas.values()) {
    for (const [type, { block }] of typesOf(blockType, schemas) ?? []) found.set(type, block);
  }
  return found;
}

/** The body of a resource, data source, ephemeral resource or provider configuration, by its schema. */
export function providerBody(
  block: Pick<Block, "type" | "labels">,
  context: Pick<ShapeContext, "schemas" | "requiredProviders">,
): DescribedBlock | undefined {
  const label = block.labels[0]?.value;
  if (label === undefined) return undefined;
  if (block.type === "provider") return schemasOf(label, context)?.provider;
  if (!hasProvider(block.type)) return undefined;
  const own = schemasOf(impliedProviderName(label), context);
  const found = own && typesOf(block.type, own)?.get(label)?.block;
  return found ?? knownTypes(block.type, context).get(label);
}

/** The names of the types that a provider has of a kind, and its source; undefined for one whose schemas are not known. */
export function typesOfProvider(
  blockType: string,
  localName: string,
  { schemas, requiredProviders }: Pick<ShapeContext, "schemas" | "requiredProviders">,
): { readonly source: string; readonly names: ReadonlySet<string> } | undefined {
  const source = sourceOfProvider(localName, requiredProviders);
  const own = source === undefined ? undefined : schemas.get(source);
  if (source === undefined || own === undefined) return undefined;
  const names = [...(typesOf(blockType, own)?.keys() ?? []), ...(own.ambiguous?.keys() ?? [])];
  return { source, names: new Set(names) };
}

function hasProvider(blockType: string): boolean {
  return ["resource", "data", "ephemeral", "provider"].includes(blockType);
}

function typesOf(blockType: string, schemas: ProviderSchemas) {
  if (blockType === "resource") return schemas.resources;
  if (blockType === "data") return schemas.dataSources;
  return blockType === "ephemeral" ? schemas.ephemeralResources : undefined;
}

function schemasOf(
  localName: string,
  { schemas, requiredProviders }: Pick<ShapeContext, "schemas" | "requiredProviders">,
): ProviderSchemas | undefined {
  return schemas.get(sourceOfProvider(localName, requiredProviders) ?? "");
}

/** The source of a provider by its name in a module; undefined where it is no valid one. */
export function sourceOfProvider(
  localName: string,
  requiredProviders: ShapeContext["requiredProviders"],
): string | undefined {
  try {
    return ProviderAddress.parse(requiredProviders.get(localName) ?? localName).toString();
  } catch {
    return undefined;
  }
}

function shapeOf(
  language: LanguageBlock | undefined,
  provider: DescribedBlock | undefined,
  isComplete: boolean,
): BodyShape {
  const shaped = new Map<string, ArgumentShape>();
  const blocks = new Map<string, BlockShape>();
  for (const [name, attribute] of provider?.attributes ?? []) {
    const { type, required, optional, deprecated, sensitive } = attribute;
    shaped.set(name, {
      description: attribute.description ?? "",
      type: typeExpression(type),
      required,
      readOnly: !required && !optional,
      deprecated,
      sensitive,
      values: type.kind === "bool" ? ["true", "false"] : [],
    });
  }
  for (const [name, { block, minItems }] of provider?.blocks ?? []) {
    const { deprecated, description = "" } = block;
    blocks.set(name, { description, labels: [], required: minItems > 0, deprecated });
  }
  if (provider !== undefined && provider.blocks.size > 0) {
    const { description, labels = [] } = DYNAMIC_BLOCK;
    blocks.set("dynamic", { description, labels, required: false, deprecated: false });
  }
  for (const [name, { description, required, values = [] }] of Object.entries(
    language?.arguments ?? {},
  )) {
    const plain = { readOnly: false, deprecated: false, sensitive: false };
    shaped.set(name, { description, required: required === true, values, ...plain });
  }
  for (const [name, { description, labels = [] }] of Object.entries(language?.blocks ?? {})) {
    blocks.set(name, { description, labels, required: false, deprecated: false });
  }
  const description = provider?.description ?? "";
  return {
    description: description === "" ? (language?.description ?? "") : description,
    arguments: shaped,
    blocks,
    isComplete,
  };
}
