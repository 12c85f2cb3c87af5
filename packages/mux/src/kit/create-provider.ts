import { Value } from "@stackwright/cty";
import { MuxError } from "../errors.ts";
import type { ProviderDiagnostic } from "../router/diagnostic.ts";
import type {
  ApplyReply,
  ApplyResourceRequest,
  LifecycleContext,
  LifecycleProvider,
  Reply,
} from "../router/lifecycle-provider.ts";
import {
  failureToDiagnostic,
  PartialFailure,
  ProviderFailure,
} from "../router/provider-failure.ts";
import type { ProviderSchema } from "../router/schema.ts";
import {
  type Attributes,
  contentOf,
  type HandlerResult,
  type StateOf,
  typeOfAttributes,
} from "./attribute.ts";
import { changedObject, changeName, changeObject } from "./change-object.ts";
import { completed, nullObject } from "./complete-object.ts";
import { ContentFailure } from "./content-failure.ts";
import type { AnyResource, KitContext, ProviderDefinition } from "./definition.ts";
import { planObject } from "./plan-object.ts";
import {
  type GivenValue,
  type ProviderException,
  toProviderException,
  writeFault,
} from "./provider-exception.ts";
import { schemaOf } from "./provider-schema.ts";
import { storedValue, upgradeObject } from "./upgrade-object.ts";

const NO_BYTES = new Uint8Array();

export interface CreateProviderOptions {
  /**
   * Receives what provider code threw that is no {@link ProviderFailure}, unless the call had been given up.
   *
   * @default its text, with the stack, goes to standard error
   */
  readonly onFault?: (fault: ProviderException) => void;
}

/**
 * Makes a provider of its definition. What the code of a definition throws becomes an error diagnostic of the
 * call: a {@link ProviderFailure} in its own words, anything else as `create of <type> failed` with its message; so
 * does a result that is no value of its attribute's type, with the attribute. {@link PartialFailure} keeps what was
 * created all the same, and so does a create or update whose result does not fit. `stop` aborts the signal of every
 * running call; a create or update that ignores it simply runs on.
 */
export function createProvider<C extends Attributes, Client>(
  definition: ProviderDefinition<C, Client>,
  options: CreateProviderOptions = {},
): LifecycleProvider {
  return new KitProvider(definition, options);
}

/** A call of provider code, for the report of its failure. */
interface Call {
  readonly operation: string;
  /** @default the provider itself */
  readonly type?: string;
  /** Those of the values. */
  readonly attributes?: Attributes;
  /** What the request has. */
  readonly values: () => readonly Value[];
  readonly signal?: AbortSignal | undefined;
}

class KitProvider<C extends Attributes, Client> implements LifecycleProvider {
  readonly #definition: ProviderDefinition<C, Client>;
  readonly #schema: ProviderSchema;
  readonly #onFault: (fault: ProviderException) => void;
  #stopping = new AbortController();
  #configured: { readonly client: Client; readonly config: Value } | undefined;
  #closing: Promise<void> | undefined;

  constructor(definition: ProviderDefinition<C, Client>, options: CreateProviderOptions) {
    this.#definition = definition;
    this.#onFault = options.onFault ?? writeFault;
    this.#schema = schemaOf(definition);
  }

  schema() {
    const capabilities = { planDestroy: false, moveState: false, failedCreateIsClean: true };
    return Promise.resolve({ diagnostics: [], schema: this.#schema, capabilities });
  }

  validateProvider: LifecycleProvider["validateProvider"] = ({ config }, { signal }) => {
    const call = {
      operation: "validate",
      attributes: this.#definition.config,
      values: () => [config],
      signal,
    };
    return this.#report(call, async () =>
      this.#definition.validate?.(contentOf(this.#definition.config, config)),
    );
  };

  validateResource: LifecycleProvider["validateResource"] = ({ type, config }, { signal }) => {
    const resource = this.#resource(type);
    const { attributes } = resource;
    const call = { operation: "validate", type, attributes, values: () => [config], signal };
    return this.#report(call, async () => resource.validate?.(contentOf(attributes, config)));
  };

  validateDataSource: LifecycleProvider["validateDataSource"] = ({ type, config }, { signal }) => {
    const source = this.#dataSource(type);
    const { attributes } = source;
    const call = { operation: "validate", type, attributes, values: () => [config], signal };
    return this.#report(call, async () => source.validate?.(contentOf(attributes, config)));
  };

  validateEphemeral: LifecycleProvider["validateEphemeral"] = ({ type }) =>
    Promise.reject(unknownName("ephemeral resource", type));

  configure: LifecycleProvider["configure"] = ({ config }, context) => {
    const call = {
      operation: "configure",
      attributes: this.#definition.config,
      values: () => [config],
      signal: context.signal,
    };
    return this.#report(call, async () => {
      const content = contentOf(this.#definition.config, config) as StateOf<C>;
      this.#configured = { client: await this.#definition.configure(content, context), config };
      return [];
    });
  };

  async upgrade(
    request: Parameters<LifecycleProvider["upgrade"]>[0],
    { signal }: LifecycleContext,
  ) {
    const { type, json } = request;
    const resource = this.#resource(type);
    const { attributes } = resource;
    const call = {
      operation: "upgrade",
      type,
      attributes,
      values: () => [storedValue(json)],
      signal,
    };
    return this.#attempt(call, async () => ({ state: await upgradeObject(resource, request) }));
  }

  move: LifecycleProvider["move"] = ({ sourceType, targetType }) =>
    this.#report({ operation: "move", type: targetType, values: () => [] }, () => {
      throw new ProviderFailure("Move not possible", `${sourceType} cannot become ${targetType}.`);
    });

  async read(
    { type, state, privateBytes }: Parameters<LifecycleProvider["read"]>[0],
    context: LifecycleContext,
  ) {
    const resource = this.#resource(type);
    const { attributes } = resource;
    const call = {
      operation: "read",
      type,
      attributes,
      values: () => [state],
      signal: context.signal,
    };
    return this.#attempt(call, async () => {
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
    const { type, prior, config, proposed } = request;
    const rest = { plannedPrivate: request.priorPrivate, legacyTypeSystem: false };
    if (proposed.isNull) {
      return { diagnostics: [], planned: proposed, requiresReplace: [], ...rest };
    }
    const resource = this.#resource(type);
    const { attributes } = resource;
    const values = () => [prior, config, proposed];
    const call = { operation: "plan", type, attributes, values, signal: context.signal };
    const reply = await this.#attempt(call, () =>
      planObject(resource, request, this.#context(context)),
    );
    return { requiresReplace: [], ...reply, ...rest };
  }

  async apply(request: ApplyResourceRequest, context: LifecycleContext): Promise<ApplyReply> {
    const { type, prior, config, planned } = request;
    const resource = this.#resource(type);
    const { attributes } = resource;
    const rest = { privateBytes: request.plannedPrivate, legacyTypeSystem: false };
    const call = {
      operation: changeName(resource, request),
      type,
      attributes,
      values: () => [prior, config, planned],
      signal: context.signal,
    };
    try {
      const kit = {
        ...this.#context(context),
        ...(request.operation && { operation: request.operation }),
      };
      const { state, failures } = await changeObject(resource, request, kit);
      return { diagnostics: failures.map((one) => this.#diagnostic(one, call)), state, ...rest };
    } catch (error) {
      const diagnostics = [this.#diagnostic(error, call)];
      if (!(error instanceof PartialFailure)) return { diagnostics, state: prior, ...rest };
      const outcome = error.state as HandlerResult<Attributes>;
      const { state, failures } = changedObject(resource, request, outcome);
      for (const one of failures) diagnostics.push(this.#diagnostic(one, call));
      return { diagnostics, state, ...rest };
    }
  }

  async import(
    { type, id }: Parameters<LifecycleProvider["import"]>[0],
    context: LifecycleContext,
  ) {
    const resource = this.#resource(type);
    const { attributes } = resource;
    const call = {
      operation: "import",
      type,
      values: () => [Value.string(id)],
      signal: context.signal,
    };
    const reply = await this.#attempt(call, async () => {
      if (resource.import === undefined) {
        throw new ProviderFailure("Import not possible", `${type} cannot be imported.`);
      }
      const found = await resource.import(id, this.#context(context));
      if (found === undefined) {
        throw new ProviderFailure("Object not found", `There is no ${type} with the id "${id}".`);
      }
      const state = completed(attributes, nullObject(attributes), found);
      return { objects: [{ type, state, privateBytes: NO_BYTES }] };
    });
    return { objects: [], ...reply };
  }

  async readDataSource(
    { type, config }: Parameters<LifecycleProvider["readDataSource"]>[0],
    context: LifecycleContext,
  ) {
    const source = this.#dataSource(type);
    const { attributes } = source;
    const call = {
      operation: "read",
      type,
      attributes,
      values: () => [config],
      signal: context.signal,
    };
    return this.#attempt(call, async () => {
      const content = contentOf(attributes, config) as StateOf<Attributes>;
      const outcome = await source.read(content, this.#context(context));
      return { state: completed(attributes, config, outcome) };
    });
  }

  openEphemeral: LifecycleProvider["openEphemeral"] = ({ type }) =>
    Promise.reject(unknownName("ephemeral resource", type));
  renewEphemeral: LifecycleProvider["renewEphemeral"] = ({ type }) =>
    Promise.reject(unknownName("ephemeral resource", type));
  closeEphemeral: LifecycleProvider["closeEphemeral"] = ({ type }) =>
    Promise.reject(unknownName("ephemeral resource", type));

  callFunction: LifecycleProvider["callFunction"] = async (request, { signal }) => {
    const called = this.#definition.functions?.[request.name];
    if (called === undefined) throw unknownName("function", request.name);
    try {
      return { result: await called.call(request.arguments) };
    } catch (error) {
      const call = {
        operation: "call",
        type: request.name,
        values: () => request.arguments,
        signal,
      };
      const { summary, detail } = this.#diagnostic(error, call);
      return { error: { text: detail === "" ? summary : `${summary}: ${detail}` } };
    }
  };

  stop(): Promise<void> {
    this.#stopping.abort(new ProviderFailure("Stopped", "The run was canceled."));
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
  async #attempt<T extends object>(
    call: Call,
    work: () => Promise<T>,
  ): Promise<Reply & Partial<T>> {
    try {
      return { diagnostics: [], ...(await work()) };
    } catch (error) {
      return { diagnostics: [this.#diagnostic(error, call)] } as unknown as Reply & Partial<T>;
    }
  }

  async #report(
    call: Call,
    work: () => Promise<readonly ProviderDiagnostic[] | undefined> | never,
  ): Promise<Reply> {
    try {
      return { diagnostics: (await work()) ?? [] };
    } catch (error) {
      return { diagnostics: [this.#diagnostic(error, call)] };
    }
  }

  /** What a call threw, for the person with the template; a mistake of the code goes to its author as well. */
  #diagnostic(error: unknown, call: Call): ProviderDiagnostic {
    const operation = `${call.operation} of ${call.type ?? "the provider"}`;
    if (error instanceof ContentFailure) {
      const { detail, attribute } = error;
      const summary = `${operation} failed`;
      return { severity: "error", summary, detail, ...(attribute && { attribute }) };
    }
    if (!(error instanceof ProviderFailure) && call.signal?.aborted !== true) {
      const { config: attributes } = this.#definition;
      const given: GivenValue[] = call.values().map((value) => ({
        attributes: call.attributes ?? {},
        value,
      }));
      if (this.#configured !== undefined)
        given.push({ attributes, value: this.#configured.config });
      this.#onFault(toProviderException(operation, error, given));
    }
    return failureToDiagnostic(error, `${operation} failed`);
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

function unknownName(kind: string, name: string): MuxError {
  return new MuxError("MUX_TOKEN_UNKNOWN", `this provider has no ${kind} ${name}`, { token: name });
}
