import type { UpstreamVersion } from "@stackwright/proto/stackwright";
import { isStrictVersion, type ProviderAddress } from "@stackwright/provider-source";
import { isRegistryError, RegistryError } from "@stackwright/registry";
import { tenancyOf } from "@stackwright/storage";
import type { PackageOffer } from "@stackwright/tfplugin/install";
import type { Place } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";

/** A version on offer with its platforms. */
export interface UpstreamRelease {
  readonly version: string;
  readonly platforms: string[];
  /** Plugin protocols; empty where the registry says none. */
  readonly protocols: string[];
}

/** Bytes of the signed documents of a version: they are kept in its record. */
const MAX_SIGNED_BYTES = 256 * 1024;
const MAX_KEYS = 20;

export function placeOf(account: string, name: string): Place {
  return { tenancy: tenancyOf({ kind: "account", account }), name };
}

export function releasesOf(versions: unknown): UpstreamRelease[] {
  return (Array.isArray(versions) ? (versions as unknown[]) : []).flatMap((entry) => {
    const { version, platforms, protocols } = membersOf(entry);
    if (typeof version !== "string" || !isStrictVersion(version)) return [];
    const named = (Array.isArray(platforms) ? (platforms as unknown[]) : [])
      .map(membersOf)
      .map(({ os, arch }) => `${String(os)}_${String(arch)}`)
      .filter((text) => /^[a-z0-9]{1,20}_[a-z0-9]{1,20}$/.test(text));
    const spoken = (Array.isArray(protocols) ? (protocols as unknown[]) : [])
      .map(String)
      .filter((text) => /^\d{1,3}(\.\d{1,3})?$/.test(text));
    return [{ version, platforms: named, protocols: spoken }];
  });
}

/** What a record keeps of the documents that the publisher signed, so that commands can verify them again. */
export function signedParts(
  found: UpstreamVersion,
  offer: PackageOffer,
  platform: string,
): Partial<UpstreamVersion> {
  const { authentication, release, signed } = offer;
  const keyId = authentication.kind === "signed" ? authentication.keyId : "";
  if (release === undefined) return { hashes: signed.map(String), keyId };
  const { checksums, signature, signingKeys, filename, protocols } = release;
  const keys = signingKeys.slice(0, MAX_KEYS);
  const keyBytes = keys.reduce((sum, key) => sum + JSON.stringify(key).length, 0);
  if (checksums.length + signature.length + keyBytes > MAX_SIGNED_BYTES) {
    const text = `checksums, signature and keys of a version have more than ${MAX_SIGNED_BYTES} bytes`;
    throw new ServerError("upstream_failed", text);
  }
  const others = found.files.filter((file) => file.platform !== platform);
  return {
    hashes: signed.map(String),
    keyId,
    checksums,
    signature,
    signingKeys: keys.map((key) => ({ ...key })),
    files: [...others, { platform, filename, protocols: [...protocols] }],
  };
}

/** The members of a value that another server sent, which may be anything. */
function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

export function refuseQuarantined(version: string, known: UpstreamVersion | undefined): void {
  if (known === undefined || known.quarantinedAtMs === 0n) return;
  const why = known.quarantineReason === "" ? "" : `: ${known.quarantineReason}`;
  throw new ServerError("quarantined", `version ${version} is in quarantine${why}`);
}

export function noVersion(address: ProviderAddress, version: string): ServerError {
  return new ServerError("not_found", `there is no version ${version} of ${address.toString()}`);
}

/** For a version that its registry gave up: another status than for one that never was, so that commands take it from no other place. */
export function withdrawnUpstream(
  { host }: ProviderAddress,
  version: string,
  { reason, cause }: { readonly reason?: string | undefined; readonly cause?: unknown } = {},
): RegistryError {
  const said = reason === undefined ? "" : `: ${reason}`;
  const text = `version ${version} was withdrawn upstream, by the registry of ${host}${said}`;
  return new RegistryError("REGISTRY_VERSION_WITHDRAWN", text, { cause });
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ServerError && error.code === "not_found";
}

/** Passes on what a registry answers; what goes wrong with it is the failure of another server. */
export async function asked<T>(address: ProviderAddress, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof ServerError || isRegistryError(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ServerError("upstream_failed", `the registry of ${address.host}: ${reason}`, {
      cause: error,
    });
  }
}
