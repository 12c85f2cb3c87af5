import { randomUUID } from "node:crypto";
import type { BlobEntry, BlobStore } from "../blob/types.ts";
import type { StorageLimits } from "../capabilities.ts";
import { isStorageError, StorageError } from "../errors.ts";
import { withVersion } from "../freeze.ts";
import type { Resource } from "../resource.ts";
import { type RestoreTarget, storeNotEmpty } from "../restore-target.ts";
import type { CallOptions, StorageBackend } from "../types.ts";
import { checkResource, unsupported } from "../validate.ts";
import { type BackupManifest, readManifest } from "./backup-manifest.ts";
import { BlobFiles } from "./blob-files.ts";
import { shownResource } from "./resource-line.ts";
import { backupBlobs, backupResources } from "./verify-backup.ts";

/** Options of {@link restoreBackup}. */
export interface RestoreBackupOptions extends CallOptions {
  /** The folder of the backup. */
  readonly directory: string;
  readonly target: RestoreTarget;
  /** Where the blobs go; some may be there already. */
  readonly blobs: BlobStore;
  /** Restores the rest of a damaged backup. @default false: nothing is restored */
  readonly withoutDamaged?: boolean;
  /** Receives each damaged record by name, as it is found. */
  readonly onProblem?: (problem: string) => void;
}

/** What was restored. */
export interface RestoredBackup {
  readonly manifest: BackupManifest;
  readonly resources: number;
  readonly blobs: number;
}

/** The target that a store with `capabilities.restore` is. */
export function restoreTargetOf(storage: StorageBackend): RestoreTarget {
  const { capabilities } = storage;
  return {
    limits: capabilities.limits,
    begin: async (options) => {
      if (!capabilities.restore || !capabilities.snapshot) {
        throw unsupported(capabilities, "restore");
      }
      await using snapshot = await storage.snapshot(options);
      for await (const resource of snapshot) throw storeNotEmpty(resource.id);
      return await storage.restore(options);
    },
  };
}

/**
 * Fills an empty store of any engine with a backup. Everything is read and compared first. The resources appear in
 * one step, after the blobs; a restore that does not get there can be repeated. Memory does not grow with the
 * backup.
 *
 * The store is a new line: all versions and cursors from before are refused.
 *
 * Rejects with `STORAGE_CORRUPT` when the backup is damaged, `STORAGE_TOO_LARGE` when the engine does not take one
 * of the resources, `STORAGE_INVALID_ARGUMENT` when the store is not empty, and as `verifyBackup` does; nothing is
 * restored then.
 */
export async function restoreBackup(options: RestoreBackupOptions): Promise<RestoredBackup> {
  const { directory, target, signal, withoutDamaged = false, onProblem } = options;
  const call = signal === undefined ? {} : { signal };
  const manifest = await readManifest(directory);
  let problems = 0;
  const report = (problem: string): void => {
    problems += 1;
    onProblem?.(problem);
  };
  for await (const resource of backupResources(directory, manifest, report)) {
    signal?.throwIfAborted();
    checkSize(resource, target.limits);
  }
  for await (const _blob of backupBlobs(directory, manifest, report)) signal?.throwIfAborted();
  if (problems > 0 && !withoutDamaged) {
    throw new StorageError(
      "STORAGE_CORRUPT",
      `the backup ${directory} is damaged in ${problems} places; nothing was restored`,
    );
  }
  await using restore = await target.begin(call);
  const known = (): void => undefined;
  let blobs = 0;
  const files = new BlobFiles(directory);
  for await (const blob of backupBlobs(directory, manifest, known)) {
    await writeBlob(options.blobs, files, blob, call);
    blobs += 1;
  }
  // Another text in front of a number: no version of the new line is one of the old.
  const line = randomUUID().slice(0, 8);
  let resources = 0;
  for await (const resource of backupResources(directory, manifest, known)) {
    signal?.throwIfAborted();
    resources += 1;
    await restore.apply(withVersion(resource, `${line}-${resources}`));
  }
  await restore.commit();
  return { manifest, resources, blobs };
}

function checkSize(resource: Resource, limits: StorageLimits): void {
  try {
    checkResource(resource, limits);
  } catch (error) {
    if (!isStorageError(error, "STORAGE_TOO_LARGE")) throw error;
    throw new StorageError(
      "STORAGE_TOO_LARGE",
      `${shownResource(resource)} is too large for this engine: ${error.message}`,
      { cause: error, details: { ...error.details, id: resource.id } },
    );
  }
}

async function writeBlob(
  blobs: BlobStore,
  files: BlobFiles,
  { sha256, size, owners }: BlobEntry,
  call: CallOptions,
): Promise<void> {
  const expected = { sha256, size };
  const claims = owners.length === 0 ? [{}] : owners.map((owner) => ({ owner }));
  for (const claim of claims) {
    await blobs.write(files.read(sha256), { ...call, ...claim, expected });
  }
}
