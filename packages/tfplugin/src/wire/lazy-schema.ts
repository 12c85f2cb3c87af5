import type { ProviderSchema, ResourceSchema } from "@stackwright/mux/router";
import type * as t6 from "@stackwright/proto/tfplugin6";
import { LazyMap } from "./lazy-map.ts";
import type { PluginMethods } from "./methods.ts";
import { SchemaReader } from "./schema-from-wire.ts";
import { type IndexedKind, indexSchema } from "./schema-index.ts";

type Kind = IndexedKind;

/** Where the types of a kind are in the decoded answer. */
const FIELDS = {
  resources: "resourceSchemas",
  dataSources: "dataSourceSchemas",
  ephemeralResources: "ephemeralResourceSchemas",
} as const;

/** A schema whose types are read when they are asked for first. */
export interface LazySchema {
  readonly schema: ProviderSchema;
  /** What of the answer is no schema of a type: diagnostics and capabilities. */
  readonly answer: t6.GetProviderSchema_Response;
  /** Reads all types and keeps none. Throws what reading one throws. */
  check(): void;
}

/**
 * What a provider declares, from its encoded answers. Throws where the message cannot be decoded, and `TFPLUGIN_SCHEMA_INVALID` where the
 * schema of the provider or of a function is none; a type throws the same when it is asked for.
 */
export function lazySchema(
  methods: PluginMethods,
  bytes: Uint8Array,
  identityBytes: Uint8Array,
): LazySchema {
  const { response } = methods.getProviderSchema;
  const { identitySchemas } = methods.getResourceIdentitySchemas.response.decode(identityBytes);
  const { types, rest } = indexSchema(bytes);
  const answer = response.decode(rest);
  const read = (reader: SchemaReader, kind: Kind, name: string): ResourceSchema => {
    const decoded = response.decode(types[kind].get(name) ?? new Uint8Array());
    const message = decoded[FIELDS[kind]].get(name);
    const identity = kind === "resources" ? identitySchemas.get(name) : undefined;
    return reader.resource(name, message ?? { version: 0n, block: undefined }, identity);
  };
  const reader = new SchemaReader();
  const table = (kind: Kind) => new LazyMap(types[kind], (name) => read(reader, kind, name));
  return {
    answer,
    schema: {
      ...reader.provider(answer, identitySchemas),
      resources: table("resources"),
      dataSources: table("dataSources"),
      ephemeralResources: table("ephemeralResources"),
    },
    check: () => {
      const once = new SchemaReader();
      for (const kind of Object.keys(FIELDS) as Kind[]) {
        for (const name of types[kind].keys()) read(once, kind, name);
      }
    },
  };
}
