// What becomes of the registry's kinds for holders of storage tokens, who reach the store past the rules of
// the registry:
//
//   record  may be read by tokens that name the kind; is written by the registry alone, which audits it
//   use     may be written as well: commands note what they use
//   secret  credentials and what protects them: for no token
//   audit   for no token

/** Every kind that the registry stores. */
export const REGISTRY_KINDS = Object.freeze({
  AccessKey: "secret",
  AccessToken: "secret",
  CredentialCount: "secret",
  RegistrySecret: "secret",
  UsedSignature: "secret",
  AuditEntry: "audit",
  AuditOrder: "audit",
  AuditSegment: "audit",
  RegistryNamespace: "record",
  ProviderAccount: "record",
  PrivateProvider: "record",
  PrivateProviderEntry: "record",
  PrivateProviderVersion: "record",
  VersionTombstone: "record",
  ProviderUse: "use",
  ProviderHealth: "record",
  ProviderSchema: "record",
  PublishedRelease: "record",
  FunctionRelease: "record",
} as const satisfies Readonly<Record<string, "record" | "use" | "secret" | "audit">>);

/** A kind that the registry stores. */
export type RegistryKind = keyof typeof REGISTRY_KINDS;
