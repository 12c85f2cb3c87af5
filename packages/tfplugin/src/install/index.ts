export { createDigestMemory, type DigestMemory } from "../cache/digest-memory.ts";
export { AddressPattern } from "./address-pattern.ts";
export type {
  CliConfiguration,
  CliConfigurationContext,
  InstallationMethod,
  MethodScope,
} from "./cli-configuration.ts";
export {
  EMPTY_CLI_CONFIGURATION,
  hostKey,
  loadCliConfiguration,
  parseCliConfiguration,
} from "./cli-configuration.ts";
export type { KeptDownload } from "./download.ts";
export { download, downloadKept } from "./download.ts";
export { fetchArchive } from "./fetch-archive.ts";
export type { Fetch, HttpClientOptions } from "./http-client.ts";
export { InstallHttpClient, requireOk } from "./http-client.ts";
export type {
  InstalledProvider,
  InstallOptions,
  InstallResult,
} from "./installer.ts";
export { installProviders } from "./installer.ts";
export type {
  LockedPackage,
  LockInstallationSource,
  LockProvidersOptions,
  LockProvidersResult,
} from "./lock-providers.ts";
export { lockProviders } from "./lock-providers.ts";
export type {
  MirroredPackage,
  MirrorProblem,
  MirrorProvidersOptions,
  MirrorProvidersResult,
} from "./mirror-providers.ts";
export { mirrorProviders } from "./mirror-providers.ts";
export type {
  Authentication,
  PackageInstallationSource,
  PackageOffer,
  SignedRelease,
  SigningKey,
} from "./provider-source.ts";
export { directRegistry } from "./registry.ts";
export type { ServiceDiscovery, ServiceDiscoveryOptions } from "./service-discovery.ts";
export { serviceDiscovery } from "./service-discovery.ts";
export { parseChecksums } from "./signature.ts";
