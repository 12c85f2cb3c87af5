import type { LifecycleContext, SchemaReply } from "@stackwright/mux/router";
import { TfpluginError } from "../errors.ts";
import { type LazySchema, lazySchema } from "../wire/lazy-schema.ts";
import { diagnosticsFromWire } from "../wire/replies.ts";
import { indexSchema } from "../wire/schema-index.ts";
import type { PluginClientOptions } from "./client-options.ts";
import type { CachedSchema } from "./schema-cache.ts";
import { TypeTable } from "./type-table.ts";
import { undecodable, type WireCalls } from "./wire-calls.ts";

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
      await this.#prepare(cached);
      return loaded(cached.reply);
    }
    const stored = await this.#stored();
    if (stored !== undefined) {
      if (schemaKey !== undefined) schemaCache?.set(schemaKey, stored);
      await this.#prepare(stored);
      return loaded(stored.reply);
    }
    const fresh = await this.#ask();
    const failed = fresh.reply.diagnostics.some(({ severity }) => severity === "error");
    if (schemaKey !== undefined && !failed) schemaCache?.set(schemaKey, fresh);
    return loaded(fresh.reply);
  }

  /** Old providers prepare themselves while they answer; what they answer is known. */
  async #prepare({ optional }: CachedSchema): Promise<void> {
    if (!optional) await this.#calls.bytes(this.#calls.methods.getProviderSchema, {}, {});
  }

  /** What was kept beyond the process. It was checked before it was written. */
  async #stored(): Promise<CachedSchema | undefined> {
    const { schemaStore } = this.#options;
    const key = this.#storeKey;
    const found = key === undefined ? undefined : await schemaStore?.read(key);
    if (key === undefined || found === undefined) return undefined;
    try {
      return cachedSchema(lazySchema(this.#calls.methods, found.schema, found.identities));
    } catch {
      await schemaStore?.drop(key);
      return undefined;
    }
  }

  async #ask(): Promise<CachedSchema> {
    const { methods } = this.#calls;
    const { getProviderSchema, getResourceIdentitySchemas } = methods;
    const schema = await this.#calls.bytes(getProviderSchema, {}, {});
    const { types } = readAnswer(getProviderSchema.name, () => indexSchema(schema));
    const identities = types.resources.size === 0 ? NOTHING : await this.#identities();
    readAnswer(getResourceIdentitySchemas.name, () =>
      getResourceIdentitySchemas.response.decode(identities),
    );
    const fresh = readAnswer(getProviderSchema.name, () => {
      const lazy = lazySchema(methods, schema, identities);
      // What is wrong is said at once, not when a type is used.
      lazy.check();
      return cachedSchema(lazy);
    });
    const key = this.#storeKey;
    if (key !== undefined && fresh.reply.diagnostics.length === 0) {
      await this.#options.schemaStore?.write(key, { schema, identities });
    }
    return fresh;
  }

  get #storeKey(): string | undefined {
    const { schemaKey } = this.#options;
    return schemaKey && `${schemaKey} ${this.#calls.protocol}`;
  }

  async #identities(): Promise<Uint8Array> {
    if (this.#options.identities === false) return NOTHING;
    try {
      const { getResourceIdentitySchemas } = this.#calls.methods;
      return await this.#calls.bytes(getResourceIdentitySchemas, {}, {});
    } catch (error) {
      if (TfpluginError.is(error, "TFPLUGIN_METHOD_UNIMPLEMENTED")) return NOTHING;
      throw error;
    }
  }
}

/** Reads what a method answered. What errors about schemas say is better than that they cannot be read. */
function readAnswer<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof TfpluginError ? error : undecodable(name, error);
  }
}

function cachedSchema({ answer, schema }: LazySchema): CachedSchema {
  const { planDestroy, moveResourceState, getProviderSchemaOptional } =
    answer.serverCapabilities ?? NO_CAPABILITIES;
  const reply: SchemaReply = {
    diagnostics: diagnosticsFromWire(answer.diagnostics),
    schema,
    capabilities: {
      planDestroy,
      moveState: moveResourceState,
      // By the contract of ApplyResourceChange, null says that nothing is there.
      failedCreateIsClean: true,
    },
  };
  return { reply, optional: getProviderSchemaOptional };
}

const NOTHING = new Uint8Array();

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
