import { type PackageHash, type PackageId, packageHasAnyHash } from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";
import { download } from "./download.ts";
import type { InstallHttpClient } from "./http-client.ts";
import type { PackageOffer } from "./provider-source.ts";

/** How archives are fetched. */
export interface FetchLimits {
  /** Largest archive, in bytes. @default 2 GiB */
  readonly maxArchiveBytes?: number | undefined;
  /** How often a download that breaks off is resumed. @default 5 */
  readonly resumes?: number | undefined;
}

/**
 * Brings the archive of an offer to where it can be read, and checks that it is what its source says.
 *
 * `path` is where a download goes, and does not exist yet. Returns where the archive is: there, or where it lay already.
 * `TFPLUGIN_CHECKSUM_MISMATCH`, and what `download` rejects with.
 */
export async function fetchArchive(
  id: PackageId,
  location: Exclude<PackageOffer["location"], { readonly kind: "directory" }>,
  hashes: readonly PackageHash[],
  {
    path,
    http,
    limits: { maxArchiveBytes: maxBytes = 2 * 1024 ** 3, resumes = 5 },
    signal,
  }: {
    readonly path: string;
    readonly http: InstallHttpClient;
    readonly limits: FetchLimits;
    readonly signal: AbortSignal;
  },
): Promise<string> {
  if (location.kind === "download") {
    await download(location.url, path, { http, maxBytes, resumes, signal });
  }
  const archive = location.kind === "archive" ? location.path : path;
  if (
    hashes.length > 0 &&
    !(await packageHasAnyHash({ kind: "archive", archive }, hashes, { signal }))
  ) {
    const { address, version } = id;
    const text = `the package of ${address.toDisplay()} ${version.toString()} has none of the hashes that its source says`;
    throw new TfpluginError("TFPLUGIN_CHECKSUM_MISMATCH", text, { provider: address.toString() });
  }
  return archive;
}
