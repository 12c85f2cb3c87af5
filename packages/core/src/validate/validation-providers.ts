import type { ModuleNode, ProviderResolution, ResourceConfig } from "@stackwright/lang";
import type { ProviderAddress } from "@stackwright/provider-source";
import type { ProviderCatalog } from "../providers/catalog.ts";
import type { ProviderInstance, ProviderInstances } from "../providers/provider-instances.ts";

/** A provider without which something cannot be checked. */
export interface SkippedProvider {
  readonly source: string;
  /** Why it is not available. */
  readonly reason: string;
  /** Addresses of what was not checked against it: resources, and its own configurations. */
  readonly blocks: readonly string[];
}

/** The providers of a check: started for their schemas and to be asked about configurations, and never configured. */
export class ValidationProviders {
  readonly versions = new Map<string, string>();
  readonly #started = new Map<string, ProviderInstance>();
  readonly #missing = new Map<string, { readonly reason: string; readonly blocks: string[] }>();
  readonly #resolution: ProviderResolution;

  private constructor(resolution: ProviderResolution) {
    this.#resolution = resolution;
  }

  static async start(
    resolution: ProviderResolution,
    catalog: ProviderCatalog,
    providers: ProviderInstances,
    signal: AbortSignal | undefined,
  ): Promise<ValidationProviders> {
    const all = new ValidationProviders(resolution);
    await Promise.all(
      [...resolution.requirements.values()].map(async ({ address, constraints }) => {
        const source = address.toString();
        try {
          const version = await catalog.select(
            { address, constraints },
            { ...(signal && { signal }) },
          );
          all.#started.set(source, await providers.get({ source, version, alias: "" }));
          all.versions.set(source, version);
        } catch (error) {
          signal?.throwIfAborted();
          const reason = error instanceof Error ? error.message : String(error);
          all.#missing.set(source, { reason, blocks: [] });
        }
      }),
    );
    return all;
  }

  ofResource(module: ModuleNode, config: ResourceConfig): ProviderInstance | undefined {
    const resolved = this.#resolution.forResource(module, config);
    return resolved && this.of(resolved.source);
  }

  sourceOf(module: ModuleNode, config: ResourceConfig): ProviderAddress | undefined {
    return this.#resolution.forResource(module, config)?.source;
  }

  of(source: ProviderAddress): ProviderInstance | undefined {
    return this.#started.get(source.toString());
  }

  /** Records that something is not checked, as its provider is not available. */
  miss(source: ProviderAddress | undefined, block: string): void {
    if (source !== undefined) this.#missing.get(source.toString())?.blocks.push(block);
  }

  /** Providers that could not be had, with what was not checked because of that. */
  get unchecked(): readonly SkippedProvider[] {
    return [...this.#missing]
      .map(([source, { reason, blocks }]) => ({ source, reason, blocks: blocks.toSorted() }))
      .toSorted((a, b) => (a.source < b.source ? -1 : 1));
  }
}
