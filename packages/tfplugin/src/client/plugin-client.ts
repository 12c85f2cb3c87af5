import type {
  ApplyReply,
  ApplyResourceRequest,
  CallFunctionReply,
  CallFunctionRequest,
  ConfigureRequest,
  EphemeralHandleRequest,
  ImportReply,
  ImportResourceRequest,
  LifecycleContext,
  LifecycleProvider,
  MoveReply,
  MoveRequest,
  OpenEphemeralRequest,
  OpenReply,
  PlanReply,
  PlanResourceRequest,
  ReadDataReply,
  ReadDataRequest,
  ReadReply,
  ReadResourceRequest,
  RenewReply,
  Reply,
  SchemaReply,
  UpgradeReply,
  UpgradeRequest,
  ValidateProviderRequest,
  ValidateResourceRequest,
} from "@stackwright/mux/router";
import { TfpluginError } from "../errors.ts";
import type { PluginTransport } from "../transport/plugin-transport.ts";
import { diagnosticsFromWire } from "../wire/replies.ts";
import type { PluginClientOptions } from "./client-options.ts";
import { DataCalls } from "./data-calls.ts";
import { EphemeralCalls } from "./ephemeral-calls.ts";
import { ResourceCalls } from "./resource-calls.ts";
import { SchemaProvider } from "./schema-source.ts";
import { StoredCalls } from "./stored-calls.ts";
import { WireCalls } from "./wire-calls.ts";

/**
 * A Terraform provider behind a transport as a {@link LifecycleProvider}, of protocol 5 or 6. Nothing is lost on the
 * way: numbers, unknowns and refinements, private bytes, identities, deferrals.
 *
 * - The schema is asked for once, with the first call that needs it, and again after a failure.
 * - A failed apply keeps what the provider said is there: where it answers null for an update or a delete that failed, the
 *   object is taken to be what it was before.
 * - Rejections: what the transport rejects with; `TFPLUGIN_TYPE_UNKNOWN` and `TFPLUGIN_VALUE_INVALID` (nothing was
 *   sent); `TFPLUGIN_REPLY_INVALID` and `TFPLUGIN_SCHEMA_INVALID` (the provider answered nonsense).
 * - It closes the transport, and with it the provider.
 *
 * Source: Terraform plugin protocol 5 and 6, as the command 1.11 uses it.
 */
export function createPluginClient(
  transport: PluginTransport,
  options: PluginClientOptions = {},
): LifecycleProvider {
  return new PluginClient(transport, options);
}

class PluginClient implements LifecycleProvider {
  readonly #calls: WireCalls;
  readonly #schema: SchemaProvider;
  readonly #resources: ResourceCalls;
  readonly #stored: StoredCalls;
  readonly #data: DataCalls;
  readonly #ephemeral: EphemeralCalls;

  constructor(transport: PluginTransport, options: PluginClientOptions) {
    this.#calls = new WireCalls(transport);
    this.#schema = new SchemaProvider(this.#calls, options);
    this.#resources = new ResourceCalls(this.#calls, this.#schema);
    this.#stored = new StoredCalls(this.#calls, this.#schema);
    this.#data = new DataCalls(this.#calls, this.#schema);
    this.#ephemeral = new EphemeralCalls(this.#calls, this.#schema);
  }

  async schema(context: LifecycleContext): Promise<SchemaReply> {
    return (await this.#schema.get(context)).reply;
  }

  async validateProvider(
    { config }: ValidateProviderRequest,
    context: LifecycleContext,
  ): Promise<Reply> {
    const { types } = await this.#schema.get(context);
    const request = { config: this.#calls.write(config, types.provider) };
    const reply = await this.#calls.call(this.#calls.methods.validateProvider, request, context);
    return { diagnostics: diagnosticsFromWire(reply.diagnostics) };
  }

  async configure(request: ConfigureRequest, context: LifecycleContext): Promise<Reply> {
    const { types } = await this.#schema.get(context);
    const reply = await this.#calls.call(
      this.#calls.methods.configure,
      {
        terraformVersion: request.engineVersion,
        config: this.#calls.write(request.config, types.provider),
        clientCapabilities: {
          deferralAllowed: request.deferralAllowed,
          writeOnlyAttributesAllowed: true,
        },
      },
      context,
    );
    return { diagnostics: diagnosticsFromWire(reply.diagnostics) };
  }

  async validateResource(
    request: ValidateResourceRequest,
    context: LifecycleContext,
  ): Promise<Reply> {
    return this.#resources.validate(request, context);
  }

  async read(request: ReadResourceRequest, context: LifecycleContext): Promise<ReadReply> {
    return this.#resources.read(request, context);
  }

  async plan(request: PlanResourceRequest, context: LifecycleContext): Promise<PlanReply> {
    return this.#resources.plan(request, context);
  }

  async apply(request: ApplyResourceRequest, context: LifecycleContext): Promise<ApplyReply> {
    return this.#resources.apply(request, context);
  }

  async upgrade(request: UpgradeRequest, context: LifecycleContext): Promise<UpgradeReply> {
    return this.#stored.upgrade(request, context);
  }

  async move(request: MoveRequest, context: LifecycleContext): Promise<MoveReply> {
    return this.#stored.move(request, context);
  }

  async import(request: ImportResourceRequest, context: LifecycleContext): Promise<ImportReply> {
    return this.#stored.import(request, context);
  }

  async validateDataSource(
    request: ValidateResourceRequest,
    context: LifecycleContext,
  ): Promise<Reply> {
    return this.#data.validate(request, context);
  }

  async readDataSource(
    request: ReadDataRequest,
    context: LifecycleContext,
  ): Promise<ReadDataReply> {
    return this.#data.read(request, context);
  }

  async callFunction(
    request: CallFunctionRequest,
    context: LifecycleContext,
  ): Promise<CallFunctionReply> {
    return this.#data.callFunction(request, context);
  }

  async validateEphemeral(
    request: ValidateResourceRequest,
    context: LifecycleContext,
  ): Promise<Reply> {
    return this.#ephemeral.validate(request, context);
  }

  async openEphemeral(
    request: OpenEphemeralRequest,
    context: LifecycleContext,
  ): Promise<OpenReply> {
    return this.#ephemeral.open(request, context);
  }

  async renewEphemeral(
    request: EphemeralHandleRequest,
    context: LifecycleContext,
  ): Promise<RenewReply> {
    return this.#ephemeral.renew(request, context);
  }

  async closeEphemeral(request: EphemeralHandleRequest, context: LifecycleContext): Promise<Reply> {
    return this.#ephemeral.close(request, context);
  }

  async stop(context: LifecycleContext): Promise<void> {
    const { stop } = this.#calls.methods;
    try {
      const { Error: text } = await this.#calls.call(stop, {}, context);
      if (text !== "")
        throw new TfpluginError("TFPLUGIN_CALL_FAILED", text, { subject: stop.name });
    } catch (error) {
      // What cannot be stopped runs to its end.
      if (!TfpluginError.is(error, "TFPLUGIN_METHOD_UNIMPLEMENTED")) throw error;
    }
  }

  async close(): Promise<void> {
    return this.#calls.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
