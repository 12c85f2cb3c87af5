import type { ModuleConfig, ProviderReference, ResourceConfig } from "../config/module-config.ts";

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

/** The reference to a provider that a resource has, written or implied. */
export function providerReference({
  provider,
  type,
  range,
}: Pick<ResourceConfig, "provider" | "type" | "range">): ProviderReference {
  return provider ?? { name: impliedProviderName(type), alias: undefined, range };
}
