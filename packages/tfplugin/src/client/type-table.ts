import { Type } from "@stackwright/cty";
import {
  type FunctionSchema,
  type ProviderSchema,
  type ResourceSchema,
  typeOfBlock,
} from "@stackwright/mux/router";
import { TfpluginError } from "../errors.ts";

/** What calls about one type of resource need to know. */
export interface TypeEntry {
  readonly schema: ResourceSchema;
  /** Of its objects and configurations. */
  readonly type: Extract<Type, { kind: "object" }>;
  /** Of its identity, where it has one. */
  readonly identity?: Type;
}

type Kind = "resources" | "dataSources" | "ephemeralResources";

/** The types that a schema implies, made when they are needed first: large providers have thousands. */
export class TypeTable {
  readonly schema: ProviderSchema;
  readonly provider: Extract<Type, { kind: "object" }>;
  readonly providerMeta: Type | undefined;
  readonly #entries = new Map<string, TypeEntry>();

  constructor(schema: ProviderSchema) {
    this.schema = schema;
    this.provider = typeOfBlock(schema.provider);
    this.providerMeta = schema.providerMeta && typeOfBlock(schema.providerMeta);
  }

  resource(name: string): TypeEntry {
    return this.#entry("resources", name);
  }

  dataSource(name: string): TypeEntry {
    return this.#entry("dataSources", name);
  }

  ephemeral(name: string): TypeEntry {
    return this.#entry("ephemeralResources", name);
  }

  function(name: string): FunctionSchema {
    const schema = this.schema.functions.get(name);
    if (schema === undefined) throw unknownName("function", name);
    return schema;
  }

  #entry(kind: Kind, name: string): TypeEntry {
    const key = `${kind} ${name}`;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const schema = this.schema[kind].get(name);
    if (schema === undefined) throw unknownName("type", name);
    const entry = entryOf(schema);
    this.#entries.set(key, entry);
    return entry;
  }
}

function entryOf(schema: ResourceSchema): TypeEntry {
  const { identity } = schema;
  const type = typeOfBlock(schema.block);
  if (identity === undefined) return { schema, type };
  const attributes = [...identity.attributes].map(
    ([name, attribute]) => [name, attribute.type] as const,
  );
  return { schema, type, identity: Type.object(attributes) };
}

function unknownName(what: string, name: string): TfpluginError {
  return new TfpluginError("TFPLUGIN_TYPE_UNKNOWN", `the provider has no ${what} ${name}`, {
    subject: name,
    outcome: "not-applied",
  });
}
