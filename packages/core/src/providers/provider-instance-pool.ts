import { type Clock, systemClock } from "@stackwright/base/clock";
import type { LifecycleProvider, ProviderReference } from "@stackwright/mux/router";
import { createRedactor, type Redactor } from "../secrets/redactor.ts";
import type {
  OpenedProvider,
  OpenedProviders,
  OpenProviderOptions,
  ProviderOrigin,
} from "./catalog.ts";
import {
  type PooledInstance,
  PooledProvider,
  type ProviderInstanceRequest,
} from "./pooled-provider.ts";

interface ProviderInstancePoolOptions {
  /** How long an idle provider is kept for its next user, in milliseconds. @default 60_000 */
  readonly idleMs?: number;
  /** @default that of the process */
  readonly clock?: Pick<Clock, "after">;
}

/*
 * A provider is *in use* by one caller, *idle*, or *stopping*.
 *
 * Invariants. It is configured at most once; a caller that configures it afterwards with other values gets another one.
 * An idle one has never rejected a call, was not asked to stop, and has no call in progress. Its earlier use is not
 * visible to callers: a provider instance is defined by its configuration.
 */

/**
 * Keeps the providers that a command starts until its end, so that planning, showing and applying share them: one start
 * and one configuration for each that differs. Disposing stops all idle ones; those in use stop when they are released.
 */
export class ProviderInstancePool implements AsyncDisposable {
  readonly #options: Required<ProviderInstancePoolOptions>;
  /** The one that became idle last comes last. */
  readonly #idle = new Map<PooledInstance, Disposable>();
  readonly #ending = new Set<Promise<void>>();
  #isClosed = false;

  constructor({ idleMs = 60_000, clock = systemClock }: ProviderInstancePoolOptions = {}) {
    this.#options = { idleMs, clock };
  }

  /** The same origin; what it opens is kept. For origins whose providers are processes. */
  keep(origin: ProviderOrigin): ProviderOrigin {
    return {
      name: origin.name,
      handles: (source) => origin.handles(source),
      select: async (requirement, options) => origin.select(requirement, options),
      open: async (reference, options) => this.#open(origin, reference, options),
      ...(origin.identify && { identify: origin.identify.bind(origin) }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#idle.keys()].map(async (instance) => this.#end(instance)));
    await Promise.all(this.#ending);
  }

  async #open(
    origin: ProviderOrigin,
    reference: ProviderReference,
    options: OpenProviderOptions = {},
  ): Promise<OpenedProviders> {
    const found = await this.#reuse(reference, options);
    if (found !== undefined) return this.#issue(origin, found, options);
    const secrets = createRedactor();
    options.secrets?.feed(secrets);
    const opened = await origin.open(reference, { ...options, secrets });
    const [only, second] = opened;
    // Several that are one package are configured together; they are not distinguished here.
    return second === undefined
      ? this.#issue(origin, instanceOf(reference, only, secrets), options)
      : opened;
  }

  #issue(
    origin: ProviderOrigin,
    instance: PooledInstance,
    { secrets }: Pick<OpenProviderOptions, "secrets">,
  ): OpenedProviders {
    const { reference } = instance;
    secrets?.feed(instance.secrets);
    const provider: LifecycleProvider = new PooledProvider(instance, {
      release: async (one) => this.#release(one),
      exchange: async (former, wanted) => {
        const other = await this.#exchange(origin, former, wanted);
        secrets?.feed(other.secrets);
        await this.#release(former);
        return other;
      },
    });
    const { identity, digest, programs } = instance.opened;
    const facts = {
      ...(identity !== undefined && { identity }),
      ...(digest !== undefined && { digest }),
      ...(programs && { programs }),
    };
    return [{ name: reference.source, provider, ...facts }];
  }

  /** Another one that has the wanted configuration, or none yet. */
  async #exchange(
    origin: ProviderOrigin,
    { reference }: PooledInstance,
    wanted: ProviderInstanceRequest,
  ): Promise<PooledInstance> {
    const found = await this.#reuse(reference, wanted);
    if (found !== undefined) return found;
    const { signal } = wanted;
    const secrets = createRedactor();
    const [only] = await origin.open(reference, { ...(signal && { signal }), secrets });
    return instanceOf(reference, only, secrets);
  }

  /** One that is idle and well. Without a wanted configuration the one that was last used under the same alias comes first. */
  async #reuse(
    reference: ProviderReference,
    { isConfigured, signal }: ProviderInstanceRequest,
  ): Promise<PooledInstance | undefined> {
    for (;;) {
      const same = [...this.#idle.keys()].filter(
        (instance) =>
          instance.reference.source === reference.source &&
          instance.reference.version === reference.version,
      );
      const fresh = same.find(({ configured }) => configured === undefined);
      const instance =
        isConfigured === undefined
          ? (same.findLast((one) => one.reference.alias === reference.alias) ??
            fresh ??
            same.at(-1))
          : (same.find(isConfigured) ?? fresh);
      if (instance === undefined) return undefined;
      this.#idle.get(instance)?.[Symbol.dispose]();
      this.#idle.delete(instance);
      try {
        await instance.opened.check?.(signal);
        instance.reference = reference;
        return instance;
      } catch {
        signal?.throwIfAborted();
        // It ended by itself; the next one is asked for.
        await this.#end(instance);
      }
    }
  }

  async #release(instance: PooledInstance): Promise<void> {
    if (this.#isClosed || instance.isSpoiled || instance.callsInProgress > 0) {
      await this.#end(instance);
      return;
    }
    const timer = this.#options.clock.after(this.#options.idleMs, () => void this.#end(instance));
    this.#idle.set(instance, timer);
  }

  async #end(instance: PooledInstance): Promise<void> {
    this.#idle.get(instance)?.[Symbol.dispose]();
    this.#idle.delete(instance);
    const ending = instance.opened.provider.close();
    this.#ending.add(ending);
    try {
      await ending;
    } finally {
      this.#ending.delete(ending);
    }
  }
}

function instanceOf(
  reference: ProviderReference,
  opened: OpenedProvider,
  secrets: Redactor,
): PooledInstance {
  return {
    reference,
    opened,
    secrets,
    configured: undefined,
    isSpoiled: false,
    callsInProgress: 0,
  };
}
