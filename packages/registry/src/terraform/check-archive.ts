import {
  type ArchiveLimits,
  inspectArchive,
  type Platform,
  ProviderSourceError,
  providerExecutable,
} from "@stackwright/provider-source";
import type { BlobReference, BlobStore } from "@stackwright/storage/blob";
import { RegistryError } from "../errors.ts";
import { BlobArchive } from "./blob-archive.ts";

/**
 * Makes sure that the command can install and run what is in an archive: that it can be unpacked at all, that the
 * provider's executable is at its root, and that it may be executed. An archive without the executable bit installs
 * well and fails at the first plan, on every machine of every user.
 *
 * Throws `REGISTRY_ARCHIVE_INVALID`, `REGISTRY_ARCHIVE_TOO_LARGE`.
 *
 * @returns the hash of the content, with its scheme
 */
export async function checkArchive(
  blobs: BlobStore,
  blob: BlobReference,
  provider: { readonly type: string; readonly platform: Platform },
  limits: ArchiveLimits,
  signal?: AbortSignal,
): Promise<string> {
  await using source = new BlobArchive(blobs, blob);
  const options = { limits, ...(signal === undefined ? {} : { signal }) };
  const inspected = await inspectArchive(source, options).catch((error: unknown) => {
    throw refusal(error);
  });
  const root = inspected.entries.filter(({ path }) => !path.includes("/"));
  const name = providerExecutable(
    root.map(({ path }) => path),
    provider.type,
  );
  const executable = root.find(({ path }) => path === name);
  if (executable === undefined) {
    throw invalid(`its root has no file called terraform-provider-${provider.type}`);
  }
  const { mode } = executable;
  if (provider.platform.os !== "windows" && (mode === undefined || (mode & 0o111) === 0)) {
    throw invalid(`${executable.path} is not marked as executable; pack it with mode 0755`);
  }
  return inspected.h1;
}

function refusal(error: unknown): unknown {
  if (!(error instanceof ProviderSourceError)) return error;
  const { code } = error;
  if (code === "PROVIDER_SOURCE_ARCHIVE_LIMIT") {
    return new RegistryError("REGISTRY_ARCHIVE_TOO_LARGE", error.message, { cause: error });
  }
  if (!code.startsWith("PROVIDER_SOURCE_ARCHIVE_")) return error;
  return new RegistryError("REGISTRY_ARCHIVE_INVALID", error.message, { cause: error });
}

function invalid(problem: string): RegistryError {
  return new RegistryError("REGISTRY_ARCHIVE_INVALID", `the archive is refused: ${problem}`);
}
