import type { ProviderSchema } from "@stackwright/mux/router";
import type { Configuration } from "../configuration/configuration.ts";
import type { ConfigurationSchemas } from "../plan/configuration-json.ts";
import type { Plan } from "../plan/plan.ts";
import type { ProviderCatalog } from "./catalog.ts";

/**
 * The schemas of the providers of a configuration, in the versions of a plan. A provider that no longer starts has
 * none.
 */
export async function configurationSchemas(
  { resolution }: Pick<Configuration, "resolution">,
  { providers }: Pick<Plan, "providers">,
  catalog: ProviderCatalog,
): Promise<ConfigurationSchemas> {
  const versions = new Map(providers.map(({ source, version }) => [source, version]));
  const schemas = new Map<string, readonly ProviderSchema[]>();
  for (const source of resolution.requirements.keys()) {
    const version = versions.get(source);
    if (version === undefined) continue;
    try {
      const found: ProviderSchema[] = [];
      for (const { provider } of await catalog.open({ source, version, alias: "" })) {
        await using opened = provider;
        found.push((await opened.schema({})).schema);
      }
      schemas.set(source, found);
    } catch {
      // The error is reported where the provider is needed for more than its schema.
    }
  }
  return {
    provider: (source) => schemas.get(source)?.[0]?.provider,
    resource(source, { mode, type }) {
      for (const schema of schemas.get(source) ?? []) {
        const found = (mode === "managed" ? schema.resources : schema.dataSources).get(type);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}
