import { decodeJson, Value } from "@stackwright/cty";
import { MuxError } from "../errors.ts";
import type { Diagnostic } from "../router/diagnostic.ts";
import type {
  ApplyReply,
  ApplyRequest,
  LifecycleContext,
  LifecycleProvider,
  Reply,
} from "../router/lifecycle-provider.ts";
import type { ProviderSchema } from "../router/schema.ts";
import {
  type Attributes,
  blockOfAttributes,
  contentOf,
  mapMembers,
  type Outcome,
  type StateOf,
  typeOfAttributes,
  valueOf,
} from "./attribute.ts";
import type { AnyResource, KitContext, ProviderDefinition } from "./definition.ts";
import { planObject } from "./plan-object.ts";
import { failureToDiagnostic, PartialFailure, ProviderFailure } from "./provider-failure.ts";

const NO_BYTES = new Uint8Array();

/**
 * Makes a provider of its definition. What the code of a definition throws becomes an error diagnostic of the
 * call; {@link PartialFailure} keeps what was created all the same. `stop` aborts the signal of every running
 * call; a create or update that ignores it simply runs on.
 */
export function createProvider<C extends Attributes, Client>(
  definition: ProviderDefinition<C, Client>,
): LifecycleProvider {
  return new KitProvider(definition);
}

class KitProvider<C extends Attributes, Client> implements LifecycleProvider {
  readonly #definition: ProviderDefinition<C, Client>;
  readonly #schema: ProviderSchema;
  #stopping = new AbortController();
  #configured: { readonly client: Client } | undefined;
  #closing: Promise<void> | undefined;

  constructor(definition: ProviderDefinition<C, Client>) {
    this.#definition = definition;
    this.#schema = schemaOf(definition);
  }

  schema() {
    const capabilities = { planDestroy: false, moveState: false, failedCreateIsClean: true };
    return Promise.resolve({ diagnostics: [], schema: this.#schema, capabilities });
  }

  validateProvider: LifecycleProvider["validateProvider"] = ({ config }) =>
    this.#report(async () =>
      this.#definition.validate?.(contentOf(this.#definition.config, config)),
    );

  validateResource: LifecycleProvider["validateResource"] = ({ type, config }) => {
    const resource = this.#resource(type);
    return this.#report(async () => resource.validate?.(contentOf(resource.attributes, config)));
  };

  validateDataSource: LifecycleProvider["validateDataSource"] = ({ type, config }) => {
    const source = this.#dataSource(type);
    return this.#report(async () => source.validate?.(contentOf(source.attributes, config)));
  };

  validateEphemeral: LifecycleProvider["validateEphemeral"] = ({ type }) =>
    Promise.reject(unknownName("ephemeral resource", type));

  configure: LifecycleProvider["configure"] = ({ config }, context) =>
    this.#report(async () => {
      const content = contentOf(this.#definition.config, config) as StateOf<C>;
      this.#configured = { client: await this.#definition.configure(content, context) };
      return [];
    });

  async upgrade({ type, schemaVersion, json }: Parameters<LifecycleProvider["upgrade"]>[0]) {
    const resource = this.#resource(type);
    const { attributes, version = 0 } = resource;
    return this.#attempt(async () => {
      const stored = JSON.parse(json) as Readonly<Record<string, unknown>>;
      if (schemaVersion > version) {
        throw new ProviderFailure(
          "Stored object too new",
          `It was stored by a newer version of this provider (schema ${schemaVersion}, this one has ${version}).`,
        );
      }
      if (schemaVersion < version) {
        if (resource.upgrade === undefined) {
          throw new ProviderFailure(
            "Stored object too old",
            `Schema ${schemaVersion} is not known.`,
          );
        }
        const outcome = await resource.upgrade(stored, schemaVersion);
        return { state: completed(attributes, nullObject(attributes), outcome) };
      }
      return { state: decodeJson(json, typeOfAttributes(attributes)) };
    });
  }

  move: LifecycleProvider["move"] = ({ sourceType, targetType }) =>
    this.#report(() => {
      throw new ProviderFailure("Move not possible", `${sourceType} cannot become ${targetType}.`);
    });

  async read(
    { type, state, privateBytes }: Parameters<LifecycleProvider["read"]>[0],
    context: LifecycleContext,
  ) {
    const resource = this.#resource(type);
    const { attributes } = resource;
    return this.#attempt(async () => {
      if (resource.read === undefined) return { state, privateBytes };
      const content = contentOf(attributes, state) as StateOf<Attributes>;
      const found = await resource.read(content, this.#context(context));
      const seen =
        found === undefined
          ? Value.null(typeOfAttributes(attributes))
          : completed(attributes, state, found);
      return { state: seen, privateBytes };
    });
  }

  async plan(
    request: Parameters<LifecycleProvider["plan"]>[0],
    context: LifecycleContext,
  ): ReturnType<LifecycleProvider["plan"]> {
    const rest = { plannedPrivate: request.priorPrivate, legacyTypeSystem: false };
    if (request.proposed.isNull) {
      return { diagnostics: [], planned: request.proposed, requiresReplace: [], ...rest };
    }
    const reply = await this.#attempt(() =>
      planObject(this.#resource(request.type), request, this.#context(context)),
    );
    return { requiresReplace: [], ...reply, ...rest };
  }

  async apply(request: ApplyRequest, context: LifecycleContext): Promise<ApplyReply> {
    const resource = this.#resource(request.type);
    const rest = { privateBytes: request.plannedPrivate, legacyTypeSystem: false };
    const kit = {
      ...this.#context(context),
      ...(request.operation && { operation: request.operation }),
    };
    try {
      return { diagnostics: [], state: await change(resource, request, kit), ...rest };
    } catch (error) {
      const diagnostics = [failureToDiagnostic(error)];
      const state =
        error instanceof PartialFailure
          ? completed(resource.attributes, request.planned, error.state as Outcome<Attributes>)
          : request.prior;
      return { diagnostics, state, ...rest };
    }
  }

  async import(
    { type, id }: Parameters<LifecycleProvider["import"]>[0],
    context: LifecycleContext,
  ) {
    const resource = this.#resource(type);
    const reply = await this.#attempt(async () => {
      if (resource.import === undefined) {
        throw new ProviderFailure("Import not possible", `${type} cannot be imported.`);
      }
      const found = await resource.import(id, this.#context(context));
      if (found === undefined) {
        throw new ProviderFailure("Object not found", `There is no ${type} with the id "${id}".`);
      }
      const state = completed(resource.attributes, nullObject(resource.attributes), found);
      return { objects: [{ type, state, privateBytes: NO_BYTES }] };
    });
    return { objects: [], ...reply };
  }

  async readDataSource(
    { type, config }: Parameters<LifecycleProvider["readDataSource"]>[0],
    context: LifecycleContext,
  ) {
    const source = this.#dataSource(type);
    return this.#attempt(async () => {
      const content = contentOf(source.attributes, config) as StateOf<Attributes>;
      const outcome = await source.read(content, this.#context(context));
      return { state: completed(source.attributes, config, outcome) };
    });
  }

  openEphemeral: LifecycleProvider["openEphemeral"] = ({ type }) =>
    Promise.reject(unknownName("ephemeral resource", type));
  renewEphemeral: LifecycleProvider["renewEphemeral"] = ({ type }) =>
    Promise.reject(unknownName("ephemeral resource", type));
  closeEphemeral: LifecycleProvider["closeEphemeral"] = ({ type }) =>
    Promise.reject(unknownName("ephemeral resource", type));

  callFunction: LifecycleProvider["callFunction"] = async (request) => {
    const called = this.#definition.functions?.[request.name];
    if (called === undefined) throw unknownName("function", request.name);
    try {
      return { result: await called.call(request.arguments) };
    } catch (error) {
      return { error: { text: error instanceof Error ? error.message : String(error) } };
    }
  };

  stop(): Promise<void> {
    this.#stopping.abort(new ProviderFailure("Stopped", "The run was cancelled."));
    this.#stopping = new AbortController();
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#closing ??= this.#end();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #end(): Promise<void> {
    await this.stop();
    if (this.#configured !== undefined) await this.#definition.close?.(this.#configured.client);
  }

  #context({ signal }: LifecycleContext): KitContext<Client> {
    if (this.#configured === undefined) {
      throw new ProviderFailure(
        "Provider not configured",
        "It must be configured before this call.",
      );
    }
    const stopping = this.#stopping.signal;
    return {
      client: this.#configured.client,
      signal: signal === undefined ? stopping : AbortSignal.any([signal, stopping]),
    };
  }

  /** The reply of a call, or what it threw as a diagnostic. */
  async #attempt<T extends object>(call: () => Promise<T>): Promise<Reply & Partial<T>> {
    try {
      return { diagnostics: [], ...(await call()) };
    } catch (error) {
      return { diagnostics: [failureToDiagnostic(error)] } as unknown as Reply & Partial<T>;
    }
  }

  async #report(call: () => Promise<readonly Diagnostic[] | undefined> | never): Promise<Reply> {
    try {
      return { diagnostics: (await call()) ?? [] };
    } catch (error) {
      return { diagnostics: [failureToDiagnostic(error)] };
    }
  }

  #resource(type: string): AnyResource<Client> {
    const resource = this.#definition.resources?.[type];
    if (resource === undefined) throw unknownName("resource", type);
    return resource;
  }

  #dataSource(type: string) {
    const source = this.#definition.dataSources?.[type];
    if (source === undefined) throw unknownName("data source", type);
    return source;
  }
}

async function change<Client>(
  resource: AnyResource<Client>,
  { prior, planned, config }: ApplyRequest,
  context: KitContext<Client>,
): Promise<Value> {
  const { attributes } = resource;
  if (planned.isNull) {
    await resource.delete(contentOf(attributes, prior) as StateOf<Attributes>, context);
    return planned;
  }
  // Write-only attributes are in the configuration alone.
  const given = mapMembers(attributes, planned, (name, member, { options }) =>
    options.writeOnly === true ? (new Map(config.entries()).get(name) ?? member) : member,
  );
  const content = contentOf(attributes, given);
  const outcome =
    prior.isNull || resource.update === undefined
      ? await resource.create(content, context)
      : await resource.update(
          content,
          contentOf(attributes, prior) as StateOf<Attributes>,
          context,
        );
  return completed(attributes, planned, outcome);
}

/** An object with what was decided, and for the rest what was known of it; nothing of it unknown. */
function completed(attributes: Attributes, known: Value, outcome: Outcome<Attributes>): Value {
  return mapMembers(attributes, known, (name, member, attribute) => {
    if (attribute.options.writeOnly === true) return Value.null(attribute.of.type);
    if (Object.hasOwn(outcome, name) && outcome[name] !== undefined) {
      return valueOf(attribute, outcome[name]);
    }
    return member.isWhollyKnown ? member : Value.null(attribute.of.type);
  });
}

function nullObject(attributes: Attributes): Value {
  return Value.object(
    Object.entries(attributes).map(([name, { of }]) => [name, Value.null(of.type)] as const),
  );
}

function schemaOf<C extends Attributes, Client>(
  definition: ProviderDefinition<C, Client>,
): ProviderSchema {
  const { resources = {}, dataSources = {}, functions = {} } = definition;
  return {
    provider: blockOfAttributes(definition.config, definition.description),
    resources: new Map(
      Object.entries(resources).map(([type, { attributes, description, version = 0 }]) => [
        type,
        { version, block: blockOfAttributes(attributes, description) },
      ]),
    ),
    dataSources: new Map(
      Object.entries(dataSources).map(([type, { attributes, description }]) => [
        type,
        { version: 0, block: blockOfAttributes(attributes, description) },
      ]),
    ),
    ephemeralResources: new Map(),
    functions: new Map(
      Object.entries(functions).map(([name, { parameters, result, summary, description }]) => [
        name,
        {
          parameters: parameters.map((parameter) => ({
            name: parameter.name,
            type: parameter.type.type,
            allowNull: false,
            allowUnknown: false,
            description: parameter.description ?? "",
          })),
          returnType: result.type,
          summary: summary ?? "",
          description: description ?? "",
          deprecationMessage: "",
        },
      ]),
    ),
  };
}

function unknownName(kind: string, name: string): MuxError {
  return new MuxError("MUX_TOKEN_UNKNOWN", `this provider has no ${kind} ${name}`, { token: name });
}
