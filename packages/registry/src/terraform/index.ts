export type { FunctionReleases } from "./function-releases.ts";
export type { Namespace, NamespaceClaim } from "./namespaces.ts";
export { claimNamespace, findNamespace, listNamespaces, transferNamespace } from "./namespaces.ts";
export type { PublishLimits } from "./publish.ts";
export type { PublishOptions } from "./publish-plugin.ts";
export { publishPlugin } from "./publish-plugin.ts";
export type {
  PublishedName,
  PublishedPackage,
  PublishedProviders,
  PublishedStanding,
  PublishedVersion,
} from "./published-providers.ts";
export { createPublishedProviders } from "./published-providers.ts";
export { releaseNamespace } from "./release-namespace.ts";
export type { TerraformOptions } from "./terraform-plugin.ts";
export { terraformPlugin } from "./terraform-plugin.ts";
