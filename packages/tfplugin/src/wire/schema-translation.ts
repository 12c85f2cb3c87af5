import * as t5 from "@stackwright/proto/tfplugin5";
import type * as t6 from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../errors.ts";

/**
 * The reply with the schemas in protocol 5, in the shape of protocol 6. Writing refuses what protocol 5 cannot say, with
 * `TFPLUGIN_DOWNGRADE_IMPOSSIBLE`: attributes that have attributes. State stores are left out.
 */
export const SCHEMA_5 = {
  encode(message: t6.GetProviderSchema_Response) {
    refuseNestedAttributes(message);
    return t5.GetProviderSchema_Response.encode(message);
  },
  decode(bytes: Uint8Array): t6.GetProviderSchema_Response {
    const message = t5.GetProviderSchema_Response.decode(bytes);
    return {
      ...message,
      provider: message.provider && schemaTo6(message.provider),
      providerMeta: message.providerMeta && schemaTo6(message.providerMeta),
      resourceSchemas: schemasTo6(message.resourceSchemas),
      dataSourceSchemas: schemasTo6(message.dataSourceSchemas),
      ephemeralResourceSchemas: schemasTo6(message.ephemeralResourceSchemas),
      listResourceSchemas: schemasTo6(message.listResourceSchemas),
      actionSchemas: new Map(
        [...message.actionSchemas].map(([name, action]) => [
          name,
          { ...action, schema: action.schema && schemaTo6(action.schema) },
        ]),
      ),
      stateStoreSchemas: new Map(),
    };
  },
};

function schemasTo6(schemas: ReadonlyMap<string, t5.Schema>): Map<string, t6.Schema> {
  return new Map([...schemas].map(([name, schema]) => [name, schemaTo6(schema)]));
}

/** A schema of protocol 5 as one of protocol 6. */
function schemaTo6({ block, ...schema }: t5.Schema): t6.Schema {
  return { ...schema, block: block && blockTo6(block) };
}

function blockTo6(block: t5.Schema_Block): t6.Schema_Block {
  return {
    ...block,
    attributes: block.attributes.map((attribute) => ({ ...attribute, nestedType: undefined })),
    blockTypes: block.blockTypes.map((nested) => ({
      ...nested,
      block: nested.block && blockTo6(nested.block),
    })),
  };
}

/** Throws `TFPLUGIN_DOWNGRADE_IMPOSSIBLE` with the kind, the type and the attribute that has attributes. */
function refuseNestedAttributes(message: t6.GetProviderSchema_Response): void {
  const { provider, providerMeta } = message;
  if (provider?.block !== undefined) refuseIn("provider", "", provider.block);
  if (providerMeta?.block !== undefined) refuseIn("provider meta", "", providerMeta.block);
  const kinds: readonly (readonly [string, ReadonlyMap<string, t6.Schema>])[] = [
    ["resource", message.resourceSchemas],
    ["data source", message.dataSourceSchemas],
    ["ephemeral resource", message.ephemeralResourceSchemas],
    ["list resource", message.listResourceSchemas],
  ];
  for (const [kind, schemas] of kinds) {
    for (const [type, { block }] of schemas) if (block !== undefined) refuseIn(kind, type, block);
  }
  for (const [type, { schema }] of message.actionSchemas) {
    if (schema?.block !== undefined) refuseIn("action", type, schema.block);
  }
}

function refuseIn(kind: string, type: string, block: t6.Schema_Block): void {
  const name = findNested(block, "");
  if (name === undefined) return;
  const owner = type === "" ? kind : `${kind} ${type}`;
  throw new TfpluginError(
    "TFPLUGIN_DOWNGRADE_IMPOSSIBLE",
    `protocol 5 has no attributes of their own in attributes (NestedType), as ${name} of ${owner} has`,
    { subject: type === "" ? name : `${type}.${name}` },
  );
}

function findNested(block: t6.Schema_Block, prefix: string): string | undefined {
  const attribute = block.attributes.find(({ nestedType }) => nestedType !== undefined);
  if (attribute !== undefined) return `${prefix}${attribute.name}`;
  for (const { typeName, block: inner } of block.blockTypes) {
    const found = inner && findNested(inner, `${prefix}${typeName}.`);
    if (found !== undefined) return found;
  }
  return undefined;
}
