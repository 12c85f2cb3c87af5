import type { LifecycleContext, SchemaReply } from "@stackwright/mux/router";
import type {
  GetProviderSchema_Response,
  ResourceIdentitySchema,
} from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../errors.ts";
import { diagnosticsFromWire } from "../wire/replies.ts";
import { schemaFromWire } from "../wire/schema-from-wire.ts";
import type { PluginClientOptions } from "./client-options.ts";
import type { CachedSchema } from "./schema-cache.ts";
import { TypeTable } from "./type-table.ts";
import type { WireCalls } from "./wire-calls.ts";

/** A schema and what follows from it. */
interface LoadedSchema {
  readonly reply: SchemaReply;
  readonly types: TypeTable;
}

/** The types that a schema implies, kept with the schema: clients that share a schema share them. */
const TABLES = new WeakMap<SchemaReply, TypeTable>();

/**
 * The schema of one provider, asked for once. Callers that come while it is being asked for wait for the same answer;
 * one that gives up does not take it from the others. After a failure the next caller asks again.
 */
export class SchemaProvider {
  readonly #calls: WireCalls;
  readonly #options: PluginClientOptions;
  #loading: Promise<LoadedSchema> | undefined;

  constructor(calls: WireCalls, options: PluginClientOptions) {
    this.#calls = calls;
    this.#options = options;
  }

  async get({ signal }: LifecycleContext): Promise<LoadedSchema> {
    signal?.throwIfAborted();
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return signal === undefined ? this.#loading : unlessAborted(this.#loading, signal);
  }

  async #load(): Promise<LoadedSchema> {
    const { schemaCache, schemaKey } = this.#options;
    const cached = schemaKey === undefined ? undefined : schemaCache?.get(schemaKey);
    if (cached !== undefined) {
      // Old providers prepare themselves while they answer; what they answer is known.
      if (!cached.optional) await this.#calls.bytes(this.#calls.methods.getProviderSchema, {}, {});
      return loaded(cached.reply);
    }
    const fresh = await this.#ask();
    const failed = fresh.reply.diagnostics.some(({ severity }) => severity === "error");
    if (schemaKey !== undefined && !failed) schemaCache?.set(schemaKey, fresh);
    return loaded(fresh.reply);
  }

  async #ask(): Promise<CachedSchema> {
    const answer = await this.#calls.call(this.#calls.methods.getProviderSchema, {}, {});
    const diagnostics = diagnosticsFromWire(answer.diagnostics);
    const { planDestroy, moveResourceState, getProviderSchemaOptional } =
      answer.serverCapabilities ?? NO_CAPABILITIES;
    const identities = await this.#identities(answer);
    const reply: SchemaReply = {
      diagnostics,
      schema: schemaFromWire(answer, identities),
      capabilities: {
        planDestroy,
        moveState: moveResourceState,
        // By the contract of ApplyResourceChange, null says that nothing is there.
        failedCreateIsClean: true,
      },
    };
    return { reply, optional: getProviderSchemaOptional };
  }

  async #identities(
    answer: GetProviderSchema_Response,
  ): Promise<ReadonlyMap<string, ResourceIdentitySchema>> {
    if (this.#options.identities === false || answer.resourceSchemas.size === 0) return new Map();
    try {
      const { getResourceIdentitySchemas } = this.#calls.methods;
      return (await this.#calls.call(getResourceIdentitySchemas, {}, {})).identitySchemas;
    } catch (error) {
      if (TfpluginError.is(error, "TFPLUGIN_METHOD_UNIMPLEMENTED")) return new Map();
      throw error;
    }
  }
}

const NO_CAPABILITIES = {
  planDestroy: false,
  moveResourceState: false,
  getProviderSchemaOptional: false,
};

function loaded(reply: SchemaReply): LoadedSchema {
  let types = TABLES.get(reply);
  if (types === undefined) {
    types = new TypeTable(reply.schema);
    TABLES.set(reply, types);
  }
  return { reply, types };
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
