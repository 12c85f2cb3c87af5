import type { Diagnostic, ProviderResolution } from "@stackwright/lang";
import type { StackSnapshot } from "../state/stack-state.ts";
import type { ProviderCatalog } from "./catalog.ts";

/**
 * The exact version of every provider of a configuration, by source. A provider that only the state refers to is used
 * in the version that wrote the state. Providers that are not available are reported.
 */
export async function selectVersions(
  { requirements }: Pick<ProviderResolution, "requirements">,
  { objects }: Pick<StackSnapshot, "objects">,
  catalog: ProviderCatalog,
  diagnostics: Diagnostic[],
): Promise<ReadonlyMap<string, string>> {
  const versions = new Map<string, string>();
  for (const [source, { address, constraints, from }] of requirements) {
    try {
      versions.set(source, await catalog.select({ address, constraints }));
    } catch (error) {
      const subject = from[0]?.range;
      diagnostics.push({
        severity: "error",
        code: "ENGINE_PROVIDER_UNAVAILABLE",
        summary: "Provider not available",
        detail: error instanceof Error ? error.message : String(error),
        provider: source,
        ...(subject !== undefined && { subject }),
      });
    }
  }
  for (const { provider } of objects.values()) {
    if (!versions.has(provider.source)) versions.set(provider.source, provider.version);
  }
  return versions;
}
