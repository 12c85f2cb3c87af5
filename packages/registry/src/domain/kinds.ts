import {
  ProviderAccount,
  ProviderHealth,
  PrivateProvider as ProviderMessage,
  ProviderRelease,
  ProviderSchema,
  ProviderUse,
  RegistryNamespace,
  PrivateProviderVersion as VersionMessage,
  VersionTombstone,
} from "@stackwright/proto/stackwright";
import type { Tenancy } from "@stackwright/storage";
import { type RecordName, recordKind } from "./record-store.ts";

// The records of private providers. All lie in the tenancy of their account and region.
//
//   PrivateProvider        <name>                        unique names
//   PrivateProviderEntry   <sequence, 12 hex digits>     the same, in the order of creation
//   PrivateProviderVersion <provider id>/<version>
//   ProviderAccount        account                       counter and clock
//   VersionTombstone       <name>/<version>
//   ProviderUse            <provider id>/<version>/<sha256 of the user>
//   ProviderHealth         <version id>
//   ProviderSchema         <digest>
//   PublishedRelease       <namespace>/<type>/<version>
//   FunctionRelease        <version id>
//
// Versions hang on the id of the provider, not on its name: what is left over of a deleted provider
// can never come up under a later one of the same name.

export const PROVIDER_KIND = recordKind("PrivateProvider", ProviderMessage);
export const PROVIDER_ENTRY_KIND = recordKind(
  "PrivateProviderEntry",
  ProviderMessage,
  "PrivateProvider",
);
export const VERSION_KIND = recordKind("PrivateProviderVersion", VersionMessage);
const ACCOUNT_KIND = recordKind("ProviderAccount", ProviderAccount);
const TOMBSTONE_KIND = recordKind("VersionTombstone", VersionTombstone);
export const USE_KIND = recordKind("ProviderUse", ProviderUse);
export const HEALTH_KIND = recordKind("ProviderHealth", ProviderHealth);
export const PUBLISHED_RELEASE_KIND = recordKind(
  "PublishedRelease",
  ProviderRelease,
  "ProviderRelease",
  releaseBlobs,
);
export const FUNCTION_RELEASE_KIND = recordKind(
  "FunctionRelease",
  ProviderRelease,
  "ProviderRelease",
  releaseBlobs,
);
export const SCHEMA_KIND = recordKind(
  "ProviderSchema",
  ProviderSchema,
  "ProviderSchema",
  (schema) => [schema.blobSha256],
);

/** Namespaces of the provider registry protocol. All accounts share them. */
export const NAMESPACE_KIND = recordKind("RegistryNamespace", RegistryNamespace);

/** Digits of a sequence in a name: enough for 2^48 providers of one account. */
export const SEQUENCE_DIGITS = 12;

/** What a release needs; a withdrawn one is not given out, and comes back by uploads of the same archives. */
function releaseBlobs({ archives, withdrawn }: ProviderRelease): readonly string[] {
  return withdrawn ? [] : archives.map(({ sha256 }) => sha256);
}

export function providerAt(tenancy: Tenancy, name: string): RecordName<ProviderMessage> {
  return { kind: PROVIDER_KIND, tenancy, name };
}

export function providerEntryAt(tenancy: Tenancy, sequence: bigint): RecordName<ProviderMessage> {
  return { kind: PROVIDER_ENTRY_KIND, tenancy, name: sequenceName(sequence) };
}

export function versionAt(
  tenancy: Tenancy,
  providerId: string,
  version: string,
): RecordName<VersionMessage> {
  return { kind: VERSION_KIND, tenancy, name: `${providerId}/${version}` };
}

export function accountAt(tenancy: Tenancy): RecordName<ProviderAccount> {
  return { kind: ACCOUNT_KIND, tenancy, name: "account" };
}

export function tombstoneAt(
  tenancy: Tenancy,
  providerName: string,
  version: string,
): RecordName<VersionTombstone> {
  return { kind: TOMBSTONE_KIND, tenancy, name: `${providerName}/${version}` };
}

function sequenceName(sequence: bigint): string {
  return sequence.toString(16).padStart(SEQUENCE_DIGITS, "0");
}
