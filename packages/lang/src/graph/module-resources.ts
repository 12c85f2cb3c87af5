import type {
  ModuleConfig,
  ProviderConfigReference,
  ResourceConfig,
} from "../config/module-config.ts";

/** All resources of a module, with the data sources of its checks. */
export function* moduleResources({ resources, checks }: ModuleConfig): Generator<ResourceConfig> {
  yield* resources.values();
  for (const { data } of checks.values()) if (data !== undefined) yield data;
}

/** The name of the provider that a resource type belongs to where nothing else is said. */
export function impliedProviderName(type: string): string {
  const end = type.indexOf("_");
  return end === -1 ? type : type.slice(0, end);
}

/**
 * The reference to a provider that a resource of a module has, written or implied. A token implies its package, which with a
 * dash in it is not the first word of the type's name; that word counts where the module declares only it.
 */
export function providerReference(
  { requiredProviders, providers }: Pick<ModuleConfig, "requiredProviders" | "providers">,
  { provider, type, token, range }: Pick<ResourceConfig, "provider" | "type" | "token" | "range">,
): ProviderConfigReference {
  if (provider !== undefined) return provider;
  const word = impliedProviderName(type);
  const isDeclared = (name: string) => requiredProviders.has(name) || providers.has(name);
  const name =
    token === undefined || (isDeclared(word) && !isDeclared(token.package)) ? word : token.package;
  return { name, alias: undefined, range };
}
