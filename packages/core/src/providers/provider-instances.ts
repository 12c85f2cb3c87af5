import { type Clock, systemClock } from "@stackwright/base/clock";
import type { RetryPolicy } from "@stackwright/base/retry";
import type { Value } from "@stackwright/cty";
import {
  createRouter,
  formatProviderReference,
  type LifecycleCapabilities,
  type LifecycleProvider,
  type ProviderCallLimits,
  type ProviderDiagnostic,
  type ProviderReference,
  type ProviderSchema,
  type ResourceSchema,
  type Router,
} from "@stackwright/mux/router";
import { LANGUAGE_VERSION } from "../configuration/language-version.ts";
import { EngineError } from "../errors.ts";
import { createRedactor, type Redactor } from "../secrets/redactor.ts";
import type { StackInputs } from "../state/stack-inputs.ts";
import type { ObjectMode } from "../state/state-object.ts";
import type { OpenedProviders, ProviderCatalog } from "./catalog.ts";
import { checkedProvider } from "./checked-provider.ts";
import { rejectOnAbort } from "./reject-on-abort.ts";
import { retryProvider } from "./retry-provider.ts";

/** Names a version of a provider, regardless of its configuration. */
export function versionText({ source, version }: Omit<ProviderReference, "alias">): string {
  return `${source} ${version}`;
}

/** That a number of a version means something else than before. */
export function providerChanged(reference: Omit<ProviderReference, "alias">): EngineError {
  const why =
    reference.version === ""
      ? "the programs that it is made of, or their versions, are other ones now"
      : "that version was deleted, and another one was published under its number";
  return new EngineError(
    "ENGINE_PROVIDER_CHANGED",
    `${versionText(reference).trim()} is not what it was when the plan was made: ${why}; make a new plan`,
  );
}

/** How long the end of providers is waited for; processes end sooner, as they are killed. In milliseconds. */
const CLOSE_MS = 30_000;

/** A provider of a run: started, with its schema, and configured at most once. */
export interface ProviderInstance {
  readonly reference: ProviderReference;
  readonly provider: LifecycleProvider;
  readonly schema: ProviderSchema;
  readonly capabilities: LifecycleCapabilities;
  /** Of the package of its program, where one is all of it. */
  readonly digest?: string;
  /** Learns the secrets that go to the provider and come from it. */
  readonly secrets: Redactor;
  /** What the schema says about a type; undefined where the provider has no such type. */
  typeSchema(mode: ObjectMode | "ephemeral", type: string): ResourceSchema | undefined;
  /** Configures it, the first time it is called. */
  configure(
    config: Value,
    options: { readonly deferralAllowed: boolean },
  ): Promise<readonly ProviderDiagnostic[]>;
}

interface RunProvidersOptions {
  readonly catalog: ProviderCatalog;
  readonly sessionId: string;
  readonly signal?: AbortSignal;
  /** Limits of calls to one configuration, by the text of its reference or by its source. */
  readonly limits?: Readonly<Record<string, ProviderCallLimits>>;
  /** @default no call is repeated */
  readonly retry?: RetryPolicy | undefined;
  readonly clock?: Clock;
  /** What is known of the run's secrets. @default one of its own */
  readonly secrets?: Redactor | undefined;
  /** What versions have to be, by {@link versionText}; what is opened first says what the others have to be. */
  readonly identities?: ReadonlyMap<string, string>;
  /** @default nothing of other stacks can be read */
  readonly inputs?: StackInputs | undefined;
  /** Receives the schema of each provider that is started, with its source. */
  readonly onSchema?: ((source: string, schema: ProviderSchema) => void) | undefined;
}

/** The providers of one plan or one apply, each configuration one of them, through the router. */
export class ProviderInstances implements AsyncDisposable {
  readonly #options: RunProvidersOptions;
  readonly secrets: Redactor;
  readonly #router: Router = createRouter();
  readonly #open = new Map<string, Promise<ProviderInstance>>();

  /** What versions are, of those that have been opened or had to be something. */
  readonly identities: Map<string, string>;

  constructor(options: RunProvidersOptions) {
    this.#options = options;
    this.identities = new Map(options.identities);
    this.secrets = options.secrets ?? createRedactor();
  }

  /** The provider of a reference, started when it is asked for first. */
  async get(reference: ProviderReference): Promise<ProviderInstance> {
    const key = formatProviderReference(reference);
    let opened = this.#open.get(key);
    if (opened === undefined) {
      opened = this.#start(reference);
      this.#open.set(key, opened);
    }
    return opened;
  }

  /** Asks all to end what runs. */
  async stop(): Promise<void> {
    await this.#router.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#open.values());
    const { promise, resolve } = Promise.withResolvers<void>();
    using _timer = (this.#options.clock ?? systemClock).after(CLOSE_MS, resolve);
    const closed = this.#router.close();
    closed.catch(() => undefined);
    await Promise.race([closed, promise]);
  }

  /** Closes providers that are not what another configuration of theirs is, or was when the plan was made. */
  async #identify(reference: ProviderReference, providers: OpenedProviders): Promise<void> {
    const key = versionText(reference);
    for (const { identity } of providers) {
      if (identity === undefined) continue;
      const expected = this.identities.get(key) ?? identity;
      this.identities.set(key, expected);
      if (identity === expected) continue;
      await Promise.all(providers.map(async ({ provider }) => provider.close()));
      throw providerChanged(reference);
    }
  }

  async #start(reference: ProviderReference): Promise<ProviderInstance> {
    const { catalog, signal, sessionId, inputs, limits = {} } = this.#options;
    const providers = await catalog.open(reference, {
      ...(signal && { signal }),
      inputs,
      secrets: this.secrets,
    });
    await this.#identify(reference, providers);
    const limit = limits[formatProviderReference(reference)] ?? limits[reference.source];
    const registered = this.#router.register({
      reference,
      providers,
      ...(limit !== undefined && { limits: limit }),
    });
    const { retry, clock = systemClock } = this.#options;
    const called = rejectOnAbort(registered);
    const provider = retry === undefined ? called : retryProvider(called, retry, clock);
    const context = { ...(signal && { signal }), sessionId };
    const { schema, capabilities, diagnostics } = await provider.schema(context);
    const problem = diagnostics.find(({ severity }) => severity === "error");
    if (problem !== undefined) {
      throw new Error(
        `${formatProviderReference(reference)} has no schema: ${problem.summary}: ${problem.detail}`,
      );
    }
    this.#options.onSchema?.(reference.source, schema);
    let configured: Promise<readonly ProviderDiagnostic[]> | undefined;
    const [{ digest }, second] = providers;
    return {
      reference,
      ...(digest !== undefined && second === undefined && { digest }),
      provider: checkedProvider(provider, schema, reference.source),
      secrets: this.secrets,
      schema,
      capabilities,
      typeSchema: (mode, type) => tableOf(schema, mode).get(type),
      configure: async (config, { deferralAllowed }) => {
        configured ??= provider
          .configure({ config, engineVersion: LANGUAGE_VERSION, deferralAllowed }, context)
          .then((reply) => reply.diagnostics);
        return configured;
      },
    };
  }
}

function tableOf(
  schema: ProviderSchema,
  mode: ObjectMode | "ephemeral",
): ReadonlyMap<string, ResourceSchema> {
  if (mode === "managed") return schema.resources;
  return mode === "data" ? schema.dataSources : schema.ephemeralResources;
}
