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
  ProviderReference,
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
import { EngineError } from "../errors.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { OpenedProvider } from "./catalog.ts";

/** A provider that is kept, and what became of it. */
export interface PooledInstance {
  /** The reference with which its last user opened it. */
  reference: ProviderReference;
  readonly opened: OpenedProvider;
  /** The secrets of all its users: its log may contain any of them at any time. */
  readonly secrets: Redactor;
  /** What it was configured with, and what it said. */
  configured: { readonly request: ConfigureRequest; readonly reply: Reply } | undefined;
  /** A user asked it to stop, or got no answer. */
  isSpoiled: boolean;
  /** Calls that have no answer yet. */
  callsInProgress: number;
}

/** Which one is wanted. */
export interface ProviderInstanceRequest {
  /** Whether one has the right configuration; without, whichever there is. */
  readonly isConfigured?: (instance: PooledInstance) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Where a provider is acquired from and released to. */
interface InstanceReleaser {
  release(instance: PooledInstance): Promise<void>;
  /** Another one in place of this one. */
  exchange(instance: PooledInstance, wanted: ProviderInstanceRequest): Promise<PooledInstance>;
}

/** A pooled provider as its current user sees it: closing it releases it to the pool. */
export class PooledProvider implements LifecycleProvider {
  readonly #releaser: InstanceReleaser;
  #instance: PooledInstance;
  #closing: Promise<void> | undefined;

  constructor(instance: PooledInstance, releaser: InstanceReleaser) {
    this.#instance = instance;
    this.#releaser = releaser;
  }

  async configure(request: ConfigureRequest, context: LifecycleContext): Promise<Reply> {
    const isConfigured = ({ configured }: PooledInstance): boolean =>
      configured !== undefined && isSame(configured.request, request);
    if (this.#instance.configured !== undefined && !isConfigured(this.#instance)) {
      const { signal } = context;
      this.#instance = await this.#releaser.exchange(this.#instance, { isConfigured, signal });
    }
    const instance = this.#instance;
    if (instance.configured !== undefined) return instance.configured.reply;
    const reply = await this.#call(async (provider) => provider.configure(request, context));
    if (reply.diagnostics.some(({ severity }) => severity === "error")) instance.isSpoiled = true;
    else instance.configured = { request, reply };
    return reply;
  }

  async schema(context: LifecycleContext): Promise<SchemaReply> {
    return this.#call(async (provider) => provider.schema(context));
  }

  async validateProvider(
    request: ValidateProviderRequest,
    context: LifecycleContext,
  ): Promise<Reply> {
    return this.#call(async (provider) => provider.validateProvider(request, context));
  }

  async validateResource(
    request: ValidateResourceRequest,
    context: LifecycleContext,
  ): Promise<Reply> {
    return this.#call(async (provider) => provider.validateResource(request, context));
  }

  async validateDataSource(
    request: ValidateResourceRequest,
    context: LifecycleContext,
  ): Promise<Reply> {
    return this.#call(async (provider) => provider.validateDataSource(request, context));
  }

  async validateEphemeral(
    request: ValidateResourceRequest,
    context: LifecycleContext,
  ): Promise<Reply> {
    return this.#call(async (provider) => provider.validateEphemeral(request, context));
  }

  async upgrade(request: UpgradeRequest, context: LifecycleContext): Promise<UpgradeReply> {
    return this.#call(async (provider) => provider.upgrade(request, context));
  }

  async move(request: MoveRequest, context: LifecycleContext): Promise<MoveReply> {
    return this.#call(async (provider) => provider.move(request, context));
  }

  async read(request: ReadResourceRequest, context: LifecycleContext): Promise<ReadReply> {
    return this.#call(async (provider) => provider.read(request, context));
  }

  async plan(request: PlanResourceRequest, context: LifecycleContext): Promise<PlanReply> {
    return this.#call(async (provider) => provider.plan(request, context));
  }

  async apply(request: ApplyResourceRequest, context: LifecycleContext): Promise<ApplyReply> {
    return this.#call(async (provider) => provider.apply(request, context));
  }

  async import(request: ImportResourceRequest, context: LifecycleContext): Promise<ImportReply> {
    return this.#call(async (provider) => provider.import(request, context));
  }

  async readDataSource(
    request: ReadDataRequest,
    context: LifecycleContext,
  ): Promise<ReadDataReply> {
    return this.#call(async (provider) => provider.readDataSource(request, context));
  }

  async openEphemeral(
    request: OpenEphemeralRequest,
    context: LifecycleContext,
  ): Promise<OpenReply> {
    return this.#call(async (provider) => provider.openEphemeral(request, context));
  }

  async renewEphemeral(
    request: EphemeralHandleRequest,
    context: LifecycleContext,
  ): Promise<RenewReply> {
    return this.#call(async (provider) => provider.renewEphemeral(request, context));
  }

  async closeEphemeral(request: EphemeralHandleRequest, context: LifecycleContext): Promise<Reply> {
    return this.#call(async (provider) => provider.closeEphemeral(request, context));
  }

  async callFunction(
    request: CallFunctionRequest,
    context: LifecycleContext,
  ): Promise<CallFunctionReply> {
    return this.#call(async (provider) => provider.callFunction(request, context));
  }

  async stop(context: LifecycleContext): Promise<void> {
    this.#instance.isSpoiled = true;
    return this.#call(async (provider) => provider.stop(context));
  }

  async close(): Promise<void> {
    this.#closing ??= this.#releaser.release(this.#instance);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #call<T>(call: (provider: LifecycleProvider) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) {
      throw new EngineError("ENGINE_PROVIDER_UNAVAILABLE", "the provider was already released");
    }
    const instance = this.#instance;
    instance.callsInProgress += 1;
    try {
      return await call(instance.opened.provider);
    } catch (error) {
      instance.isSpoiled = true;
      throw error;
    } finally {
      instance.callsInProgress -= 1;
    }
  }
}

function isSame(one: ConfigureRequest, other: ConfigureRequest): boolean {
  return (
    one.engineVersion === other.engineVersion &&
    one.deferralAllowed === other.deferralAllowed &&
    one.config.rawEquals(other.config)
  );
}
