export { DEFAULT_REGISTRY_HOST } from "./address/hostname.ts";
export { ProviderAddress } from "./address/provider-address.ts";
export type { ProviderAddressKind } from "./address/provider-kind.ts";
export {
  BUILTIN_HOST,
  BUILTIN_NAMESPACE,
  DEFAULT_NAMESPACE,
  LEGACY_NAMESPACE,
  LOCAL_HOST,
  LOCAL_NAMESPACES,
  PRIVATE_HOST,
  PRIVATE_NAMESPACE,
} from "./address/provider-kind.ts";
export type { ArchiveSource } from "./archive/archive-source.ts";
export { archiveFromBytes, openArchiveFile } from "./archive/archive-source.ts";
export type { ArchiveHashes } from "./archive/hash-archive.ts";
export { hashArchive, hashArchiveFile } from "./archive/hash-archive.ts";
export type { InspectedArchive, InspectedEntry } from "./archive/inspect-archive.ts";
export { inspectArchive } from "./archive/inspect-archive.ts";
export type { ArchiveLimits } from "./archive/limits.ts";
export { DEFAULT_ARCHIVE_LIMITS } from "./archive/limits.ts";
export { listPackEntries, writeArchive } from "./archive/pack-directory.ts";
export type { TarballEntry } from "./archive/pack-tarball.ts";
export { packTarball } from "./archive/pack-tarball.ts";
export { readArchive } from "./archive/read-archive.ts";
export type { TarballOptions, TarballSummary } from "./archive/tarball.ts";
export { readTarball } from "./archive/tarball.ts";
export type { UnpackOptions, UnpackSummary } from "./archive/unpack.ts";
export { unpackArchive } from "./archive/unpack.ts";
export type { PackageLocation } from "./archive/verify-package.ts";
export { packageHasAnyHash } from "./archive/verify-package.ts";
export type { ArchiveSummary, PackEntry, PackOptions } from "./archive/zip-writer.ts";
export { packArchive } from "./archive/zip-writer.ts";
export type {
  BridgeArchive,
  BridgeArchiveRequest,
  BridgeArchiveSource,
  BridgeBinding,
} from "./bridge/bridge-archive.ts";
export { packBridgeArchive } from "./bridge/packed-bridge-archive.ts";
export type {
  LockProblem,
  ProviderSourceErrorCode,
  ProviderSourceErrorDetails,
} from "./errors.ts";
export { PROVIDER_SOURCE_ERRORS, ProviderSourceError } from "./errors.ts";
export type { FunctionUrn } from "./function-urn.ts";
export { parseFunctionUrn } from "./function-urn.ts";
export { hashDirectory } from "./hash/hash-directory.ts";
export type { PackageHash } from "./hash/package-hash.ts";
export {
  hashScheme,
  isSupportedHash,
  normalizeHashes,
  parsePackageHash,
  zipHash,
  zipHashHex,
} from "./hash/package-hash.ts";
export type { Installation } from "./lock/lock-file.ts";
export { LockFile } from "./lock/lock-file.ts";
export type { ParsedLockFile } from "./lock/lock-parser.ts";
export { LOCK_FILE_NAME, parseLockFile } from "./lock/lock-parser.ts";
export { readLockFile, writeLockFile } from "./lock/lock-storage.ts";
export type { ProviderLock } from "./lock/provider-lock.ts";
export { checkableHashes, createProviderLock } from "./lock/provider-lock.ts";
export type { PackageId } from "./package-layout.ts";
export {
  archiveFilename,
  packedPath,
  providerExecutable,
  unpackedPath,
} from "./package-layout.ts";
export { Platform } from "./platform.ts";
export type { ProviderRequirement } from "./provider-requirement.ts";
export type { TypeToken } from "./token/type-token.ts";
export { longTypeNameOfToken, parseTypeToken, typeNameOfToken } from "./token/type-token.ts";
export type { ConstraintOperator } from "./version/constraint.ts";
export { VersionConstraint } from "./version/constraint.ts";
export { VersionConstraints } from "./version/constraints.ts";
export { requireExactVersion } from "./version/exact-version.ts";
export { isStrictVersion, Version } from "./version/version.ts";
