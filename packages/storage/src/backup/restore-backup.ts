import { randomUUID } from "node:crypto";
import type { BlobReferenceKind } from "../blob/collect-unreferenced.ts";
import type { BlobContent, BlobEntry, BlobStore } from "../blob/types.ts";
import type { StorageLimits } from "../capabilities.ts";
import { isStorageError, StorageError } from "../errors.ts";
import type { CommitHistory } from "../feed/commit-history.ts";
import { withVersion } from "../freeze.ts";
import type { Resource } from "../resource.ts";
import { type RestoreTarget, storeNotEmpty } from "../restore-target.ts";
import type { CallOptions, StorageBackend } from "../types.ts";
import { checkResource, unsupported } from "../validate.ts";
import { type BackupManifest, readManifest } from "./backup-manifest.ts";
import { BlobFiles } from "./blob-files.ts";
import { DeclaredReferences } from "./declared-references.ts";
import { LaterCommits, type RestorePoint } from "./later-commits.ts";
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
  /** Changes what is restored, in the same step. @default nothing */
  readonly amend?: RestoreAmendment;
  /** Restores the store as it was at a later moment than that of the backup. @default that of the backup */
  readonly later?: LaterMoment;
}

/** What a restored store has that its backup has not, or the other way around. */
export interface RestoreAmendment {
  /** Receives each resource that is to be restored; `undefined` leaves it out. */
  resource(resource: Resource): Resource | undefined;
  /** Resources that are not in the backup, asked for once all others were given. */
  added(): Iterable<Resource>;
}

/** A moment behind a backup, and the store whose history reaches there. */
export interface LaterMoment {
  readonly point: RestorePoint;
  /** Of the line of the backup. Others may write to the store meanwhile. */
  readonly history: CommitHistory;
  /** The blobs beside that history: the backup has none that were written after it. */
  readonly blobs: BlobStore;
  /** Kinds whose references to blobs are known; blobs of others stay behind. */
  readonly kinds: readonly BlobReferenceKind[];
}

/** What was restored. */
export interface RestoredBackup {
  readonly manifest: BackupManifest;
  /** The commit of the store after which it was as it is now. */
  readonly revision: number;
  readonly resources: number;
  readonly blobs: number;
  /** What was lost on the way to a later moment, by name: blobs that resources from behind the backup refer to in vain. */
  readonly lost: readonly string[];
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
 * of the resources, `STORAGE_INVALID_ARGUMENT` when the store is not empty or the history does not have the moment that
 * is asked for, and as `verifyBackup` does; nothing is restored then.
 */
export async function restoreBackup(options: RestoreBackupOptions): Promise<RestoredBackup> {
  const { directory, target, signal, withoutDamaged = false, onProblem, later } = options;
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
  const commits = later && (await LaterCommits.find(later.history, manifest, later.point, call));
  if (commits !== undefined) {
    for await (const resource of commits.resources(call)) checkSize(resource, target.limits);
  }
  await using restore = await target.begin(call);
  const known = (): void => undefined;
  let blobs = 0;
  const files = new BlobFiles(directory);
  for await (const blob of backupBlobs(directory, manifest, known)) {
    await writeBlob(options.blobs, () => files.read(blob.sha256), blob, call);
    blobs += 1;
  }
  // Another text in front of a number: no version of the new line is one of the old.
  const line = randomUUID().slice(0, 8);
  let resources = 0;
  const write = async (resource: Resource): Promise<void> => {
    signal?.throwIfAborted();
    resources += 1;
    await restore.apply(withVersion(resource, `${line}-${resources}`));
  };
  const { amend } = options;
  const apply = async (resource: Resource): Promise<void> => {
    const amended = amend === undefined ? resource : amend.resource(resource);
    if (amended !== undefined) await write(amended);
  };
  for await (const resource of backupResources(directory, manifest, known)) {
    if (commits?.hasChanged(resource) !== true) await apply(resource);
  }
  const lost: string[] = [];
  if (later !== undefined && commits !== undefined) {
    const newer = new NewerBlobs(files, new DeclaredReferences(later.kinds));
    for await (const resource of commits.resources(call)) {
      await newer.need(resource);
      await apply(resource);
    }
    blobs += await newer.copy(later.blobs, options.blobs, call);
    lost.push(...newer.missing());
  }
  for (const resource of amend?.added() ?? []) await write(resource);
  await restore.commit();
  return {
    manifest,
    revision: commits?.revision ?? manifest.store.revision,
    resources,
    blobs,
    lost,
  };
}

/** The blobs that resources from behind a backup refer to and that it does not have. */
class NewerBlobs {
  readonly #files: BlobFiles;
  readonly #references: DeclaredReferences;
  /** Digests that are not copied yet, each with a resource that refers to it. */
  readonly #needed = new Map<string, string>();
  /** What refers to blobs that are not known. */
  readonly #unreadable: string[] = [];

  constructor(files: BlobFiles, references: DeclaredReferences) {
    this.#files = files;
    this.#references = references;
  }

  async need(resource: Resource): Promise<void> {
    try {
      for (const sha256 of this.#references.of(resource)) {
        if (!(await this.#files.has(sha256))) this.#needed.set(sha256, shownResource(resource));
      }
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
      this.#unreadable.push(error.message);
    }
  }

  /** Copies what there is; gives how many those are. */
  async copy(from: BlobStore, to: BlobStore, call: CallOptions): Promise<number> {
    let copied = 0;
    if (this.#needed.size === 0) return copied;
    for await (const blob of from.list(call)) {
      if (!this.#needed.has(blob.sha256)) continue;
      try {
        await writeBlob(to, () => from.read(blob.sha256, call), blob, call);
      } catch (error) {
        // Collected since it was listed, or damaged.
        if (isStorageError(error, "STORAGE_NOT_FOUND", "STORAGE_CORRUPT")) continue;
        throw error;
      }
      this.#needed.delete(blob.sha256);
      copied += 1;
    }
    return copied;
  }

  missing(): readonly string[] {
    const missing = Array.from(
      this.#needed,
      ([sha256, name]) => `blob ${sha256} is missing, to which ${name} refers`,
    );
    return [...this.#unreadable, ...missing];
  }
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
  content: () => BlobContent,
  { sha256, size, owners }: BlobEntry,
  call: CallOptions,
): Promise<void> {
  const expected = { sha256, size };
  const claims = owners.length === 0 ? [{}] : owners.map((owner) => ({ owner }));
  for (const claim of claims) {
    await blobs.write(content(), { ...call, ...claim, expected });
  }
}
