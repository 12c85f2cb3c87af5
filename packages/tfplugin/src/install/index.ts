export { AddressPattern } from "./address-pattern.ts";
export type {
  CliConfiguration,
  CliConfigurationContext,
  InstallationMethod,
  MethodScope,
} from "./cli-configuration.ts";
export {
  EMPTY_CLI_CONFIGURATION,
  loadCliConfiguration,
  parseCliConfiguration,
} from "./cli-configuration.ts";
export type { Fetch, HttpClientOptions } from "./http-client.ts";
export type {
  InstalledProvider,
  InstallOptions,
  InstallResult,
  ProviderRequirement,
} from "./installer.ts";
export { installProviders } from "./installer.ts";
export type { Authentication, PackageOffer, ProviderPackageSource } from "./provider-source.ts";
