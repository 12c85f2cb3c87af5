export type { FunctionReleases } from "./function-releases.ts";
export type { Namespace } from "./namespaces.ts";
export { claimNamespace, findNamespace } from "./namespaces.ts";
export type { PublishLimits } from "./publish.ts";
export type { PublishOptions } from "./publish-plugin.ts";
export { publishPlugin } from "./publish-plugin.ts";
export { releaseBlobs } from "./releases.ts";
export type { TerraformOptions } from "./terraform-plugin.ts";
export { terraformPlugin } from "./terraform-plugin.ts";
