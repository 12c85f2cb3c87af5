export type { Environment, StackEnvironmentInput } from "./environment.ts";
export { inheritedEnvironment, stackEnvironment } from "./environment.ts";
export type { LaunchTerraformOptions } from "./launch-options.ts";
export type { LaunchedTerraformProvider } from "./launch-provider.ts";
export { launchTerraformProvider } from "./launch-provider.ts";
export type { ProviderLogEntry } from "./log-line.ts";
export type { AttachTerraformOptions, ReattachTarget } from "./reattach.ts";
export { attachTerraformProvider, parseReattachProviders } from "./reattach.ts";
