export type { Authenticator, AuthenticatorOptions } from "./access/authenticator.ts";
export { createAuthenticator } from "./access/authenticator.ts";
export { MAX_OF_OWNER } from "./access/credential-owner.ts";
export type { CredentialStoreOptions, NewCredential } from "./access/credentials.ts";
export { CredentialStore, WHOLE_STORE } from "./access/credentials.ts";
export type { KeyRing } from "./access/key-ring.ts";
export { createKeyRing } from "./access/key-ring.ts";
export { limitedTo } from "./access/limited-to.ts";
export type { Principal, Role } from "./access/principal.ts";
export {
  hasRole,
  isAccountAdmin,
  isRole,
  principalIn,
  ROLES,
  requireRole,
} from "./access/principal.ts";
export { nameOfRole } from "./access/role-names.ts";
export type { RequestedScope, TokenStorageScope } from "./access/storage-scopes.ts";
export { KIND_SETS, storageScopesOf } from "./access/storage-scopes.ts";
export { createStoreReplayGuard, sweepSignatures } from "./access/store-replay-guard.ts";
export type { Credential } from "./access/stored-credential.ts";
export { isTokenId } from "./access/stored-credential.ts";
export type { SecretKeyUse } from "./access/stored-secrets.ts";
export { listSecretKeys, reencryptSecrets } from "./access/stored-secrets.ts";
export type { AuditEntry, AuditFacts, AuditPage, NumberedAuditEntry } from "./domain/audit-log.ts";
export type { FunctionHealth, FunctionProbe, VersionHealth } from "./domain/health.ts";
export type { RegistryKind } from "./domain/kind-table.ts";
export { REGISTRY_KINDS } from "./domain/kind-table.ts";
export type { Page, PageRequest, SortDirection } from "./domain/listing.ts";
export type {
  NewProvider,
  NewVersion,
  PrivateProvider,
  PrivateProviderVersion,
  RequestContext,
} from "./domain/model.ts";
export type { RegistryPolicy } from "./domain/policy.ts";
export type { Deletion, ProviderName } from "./domain/providers.ts";
export { RECORD_BLOB_KINDS } from "./domain/record-store.ts";
export type { ResolvedPrivateProvider } from "./domain/resolve.ts";
export { privateProviderAddress } from "./domain/resolve.ts";
export { schemaDigest } from "./domain/schema-cache.ts";
export type { RegistryScope } from "./domain/scope.ts";
export type { ProviderUsage } from "./domain/usage.ts";
export type { VersionName } from "./domain/versions.ts";
export type {
  FieldProblem,
  RegistryErrorCode,
  RegistryErrorDetails,
} from "./errors.ts";
export { isRegistryError, REGISTRY_ERRORS, RegistryError } from "./errors.ts";
export type { Registry, RegistryOptions } from "./registry.ts";
export { createRegistry } from "./registry.ts";
