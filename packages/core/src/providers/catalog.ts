import type { ResourceProvider } from "@stackwright/mux";
import type { PackageParameters } from "@stackwright/mux/host";
import type {
  NamedLifecycleProvider,
  ProviderMemberKind,
  ProviderReference,
} from "@stackwright/mux/router";
import type { ProviderAddress, ProviderRequirement } from "@stackwright/provider-source";
import { EngineError } from "../errors.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { StackInputs } from "../state/stack-inputs.ts";

/** A provider that was started. */
export interface OpenedProvider extends NamedLifecycleProvider {
  /** Rejects where it has ended, or gives no answer. */
  readonly check?: (signal?: AbortSignal) => Promise<void>;
  /** As {@link ProviderOrigin.identify} says. */
  readonly identity?: string;
  /** Of the package of its program, where nothing else decides what it answers. @default not known */
  readonly digest?: string;
  /** The program that serves each name, for a provider that is made of several. @default it is one program */
  readonly programs?: ProviderPrograms;
}

/** Names of programs, by kind and name of what they serve. */
export type ProviderPrograms = Readonly<Record<ProviderMemberKind, ReadonlyMap<string, string>>>;

/** A program that was started, as what it is in Pulumi's protocol. */
export interface OpenedPulumiProgram {
  readonly provider: ResourceProvider;
  /** Rejects where it has ended. */
  readonly check?: (signal?: AbortSignal) => Promise<void>;
  close(): Promise<void>;
}

/** One or several providers that together implement a package. */
export type OpenedProviders = readonly [OpenedProvider, ...OpenedProvider[]];

/** A place where providers come from: built in, a program, an installation, a registry. */
export interface ProviderOrigin {
  readonly name: string;
  /** Whether it is responsible for a source. The first origin that says so is asked for everything. */
  handles(source: ProviderAddress): boolean;
  /** The exact version that is used; empty where there are no versions. Rejects where none fits. */
  select(requirement: ProviderRequirement, options?: OpenProviderOptions): Promise<string>;
  /** Starts a provider, which the caller closes. `reference.alias` distinguishes configurations, nothing more. */
  open(reference: ProviderReference, options?: OpenProviderOptions): Promise<OpenedProviders>;
  /**
   * Names what a version is at present, where its number can come to mean something else: what was published later under the
   * same number has another identity. Rejects where there is no such version. @default a number means one thing for ever
   */
  identify?(
    reference: ProviderReference,
    options?: OpenProviderOptions,
  ): Promise<string | undefined>;
  /**
   * Starts a program as what it is in Pulumi's protocol, so that it can be one of several in a mux. The caller closes it.
   * @default its providers speak another protocol
   */
  openPulumi?(
    reference: ProviderReference,
    options?: OpenProviderOptions,
  ): Promise<OpenedPulumiProgram>;
}

/** What makes another package of a plug-in of Pulumi. */
export type ProgramParameters = PackageParameters;

export interface OpenProviderOptions {
  readonly signal?: AbortSignal;
  /** What the plan or apply that opens it may read of other stacks. */
  readonly inputs?: StackInputs | undefined;
  /** Knows the secrets of who opens it, and has to clean what the provider writes. @default there are none */
  readonly secrets?: Redactor | undefined;
  /** What makes another package of a plug-in of Pulumi. @default it is what it is */
  readonly parameters?: ProgramParameters | undefined;
}

/** From a source to a provider. */
export interface ProviderCatalog {
  select(requirement: ProviderRequirement, options?: OpenProviderOptions): Promise<string>;
  open(reference: ProviderReference, options?: OpenProviderOptions): Promise<OpenedProviders>;
  /** What the version is at present; undefined where its number says that. */
  identify(
    reference: ProviderReference,
    options?: OpenProviderOptions,
  ): Promise<string | undefined>;
}

/** A catalog that asks origins in order. */
export function createCatalog(
  origins: readonly ProviderOrigin[],
  parse: (source: string) => ProviderAddress,
): ProviderCatalog {
  const originOf = (source: ProviderAddress): ProviderOrigin => {
    const origin = origins.find((candidate) => candidate.handles(source));
    if (origin !== undefined) return origin;
    throw new EngineError(
      "ENGINE_PROVIDER_UNAVAILABLE",
      `there is no provider ${source.toString()} here: it is neither built in nor installed`,
    );
  };
  return {
    select: async (requirement, options) =>
      originOf(requirement.address).select(requirement, options),
    open: async (reference, options) => originOf(parse(reference.source)).open(reference, options),
    identify: async (reference, options) =>
      originOf(parse(reference.source)).identify?.(reference, options),
  };
}
