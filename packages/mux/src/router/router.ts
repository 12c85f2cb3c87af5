import { type Clock, systemClock } from "@stackwright/base/clock";
import { MuxError } from "../errors.ts";
import { joinLifecycleProviders, type NamedLifecycleProvider } from "./join-providers.ts";
import type { LifecycleProvider } from "./lifecycle-provider.ts";
import { limitLifecycleProvider } from "./limit-provider.ts";
import type { ProviderCallLimits } from "./provider-call-limiter.ts";

/**
 * One configured provider of a run. Two aliases, two versions, and two sources whose types have equal names
 * are different references, and live side by side.
 */
export interface ProviderReference {
  /** Full source address, `registry.terraform.io/hashicorp/random`. */
  readonly source: string;
  /** Exact version; empty for providers without one, such as built-in ones. */
  readonly version: string;
  /** Alias of the configuration, with all else that distinguishes it from others; empty for the default one. */
  readonly alias: string;
}

/** `source@version` and, if there is one, `(alias)`: for messages and logs. */
export function formatProviderReference({ source, version, alias }: ProviderReference): string {
  return `${source}${version === "" ? "" : `@${version}`}${alias === "" ? "" : ` (${alias})`}`;
}

export interface ProviderRegistration {
  readonly reference: ProviderReference;
  /** One provider, or several that together implement the package; each type has one owner. */
  readonly providers: readonly [NamedLifecycleProvider, ...NamedLifecycleProvider[]];
  /** Limits of this configuration alone. */
  readonly limits?: ProviderCallLimits;
}

/** What the engine asks for the provider of a resource. */
export interface Router extends AsyncDisposable {
  /** Adds a configured provider, which the router owns from now on. `MUX_OPTIONS_INVALID` if it is there. */
  register(registration: ProviderRegistration): LifecycleProvider;
  /** The provider of a reference. `MUX_PROVIDER_UNKNOWN`, naming the registered ones of the same source. */
  provider(reference: ProviderReference): LifecycleProvider;
  /** What is registered, in order of registration. */
  readonly references: readonly ProviderReference[];
  /** Takes one provider out and closes it. */
  release(reference: ProviderReference): Promise<void>;
  /** Asks all providers to end running operations early; `AggregateError` of those that could not be asked. */
  stop(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Closes all providers. Idempotent. */
  close(): Promise<void>;
}

export interface RouterOptions {
  /** @default the clock of the process */
  readonly clock?: Clock;
}

interface Entry {
  readonly reference: ProviderReference;
  readonly provider: LifecycleProvider;
}

export function createRouter({ clock = systemClock }: RouterOptions = {}): Router {
  const entries = new Map<string, Entry>();
  let closing: Promise<void> | undefined;

  function requireOpen(): void {
    if (closing !== undefined) throw new MuxError("MUX_CLOSED", "the router is closed");
  }

  async function forAll(call: (provider: LifecycleProvider) => Promise<void>, what: string) {
    const results = await Promise.allSettled(
      [...entries.values()].map(async ({ provider }) => call(provider)),
    );
    const errors = results.flatMap((result) =>
      result.status === "rejected" ? [result.reason as unknown] : [],
    );
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} providers ${what}`);
  }

  const router: Router = {
    register({ reference, providers, limits }) {
      requireOpen();
      const key = keyOf(reference);
      if (entries.has(key)) {
        const name = formatProviderReference(reference);
        throw new MuxError("MUX_OPTIONS_INVALID", `provider ${name} is registered already`);
      }
      const [only, second] = providers;
      const joined = second === undefined ? only.provider : joinLifecycleProviders(providers);
      const provider =
        limits === undefined ? joined : limitLifecycleProvider(joined, limits, clock);
      entries.set(key, { reference, provider });
      return provider;
    },

    provider(reference) {
      requireOpen();
      const entry = entries.get(keyOf(reference));
      if (entry !== undefined) return entry.provider;
      const similar = router.references
        .filter(({ source }) => source === reference.source)
        .map(formatProviderReference);
      throw new MuxError(
        "MUX_PROVIDER_UNKNOWN",
        `there is no provider ${formatProviderReference(reference)}` +
          (similar.length === 0 ? "" : `; of this source there is ${similar.join(", ")}`),
        { token: reference.source },
      );
    },

    get references() {
      return [...entries.values()].map(({ reference }) => reference);
    },

    async release(reference) {
      const { provider } = entries.get(keyOf(reference)) ?? {};
      entries.delete(keyOf(reference));
      await provider?.close();
    },

    async stop({ signal } = {}) {
      await forAll(
        async (provider) => provider.stop({ ...(signal && { signal }) }),
        "could not be stopped",
      );
    },

    async close() {
      closing ??= forAll(async (provider) => provider.close(), "did not close");
      await closing;
    },

    [Symbol.asyncDispose]: async () => router.close(),
  };
  return router;
}

/** No part can hold a NUL, so different references have different keys. */
function keyOf({ source, version, alias }: ProviderReference): string {
  return [source, version, alias].join("\0");
}
