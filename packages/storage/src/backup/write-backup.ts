import { open } from "node:fs/promises";
import { join } from "node:path";
import type { BlobReferenceKind } from "../blob/collect-unreferenced.ts";
import type { BlobStore } from "../blob/types.ts";
import type { DamagedResource } from "../damaged-resource.ts";
import { isStorageError, StorageError } from "../errors.ts";
import type { PastSnapshots } from "../past-snapshots.ts";
import type { CallOptions, StorageBackend } from "../types.ts";
import { unsupported } from "../validate.ts";
import { BackupFolder } from "./backup-folder.ts";
import {
  type BackupFile,
  type BackupManifest,
  BLOBS_FILE,
  formatManifest,
  MANIFEST_FILE,
  RESOURCES_FILE,
} from "./backup-manifest.ts";
import { BlobFiles } from "./blob-files.ts";
import { formatBlobLine } from "./blob-line.ts";
import { shownDamage } from "./damaged-resources.ts";
import { DeclaredReferences } from "./declared-references.ts";
import { LineWriter } from "./line-file.ts";
import { formatResourceLine, shownResource } from "./resource-line.ts";

// Which blobs a backup has to have: those that the resources at its revision refer to. Blobs are copied
// before the resources and again after them, so what is missing then was written after the first pass,
// referred to at the revision, and collected before the second: its reference was deleted meanwhile. Then
// the resources are copied again, at a later revision. What is missing every time is lost.

/** How often the resources are copied. */
const ATTEMPTS = 3;

/** Most names in the manifest of what is lost; what is beyond is counted. */
const MAX_LOST = 1000;

/** Options of {@link writeBackup}. */
export interface WriteBackupOptions extends CallOptions {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  /** Made by the call; the folder must not exist. */
  readonly directory: string;
  /** Kinds whose references to blobs are known, so that lost blobs are noticed. @default none */
  readonly kinds?: readonly BlobReferenceKind[];
  /**
   * The moment that is copied. Blobs that were collected since then are lost.
   *
   * @default now
   */
  readonly past?: PastMoment;
}

interface PastMoment {
  readonly store: PastSnapshots;
  readonly revision: number;
}

/**
 * Copies a store with its blobs into a folder, while others write to it: all resources at one revision, and
 * every blob that they refer to. The folder gets its name when it is complete and synced. Memory does not
 * grow with the store.
 *
 * What the store has lost already is named in the manifest (`lost`), and the backup is made without it.
 *
 * Rejects with `STORAGE_UNSUPPORTED` for a store behind a connection: the backup is made where the store is;
 * `STORAGE_INVALID_ARGUMENT` where the folder exists or there is no such moment, `STORAGE_LOCKED` while another process writes it.
 */
export async function writeBackup(options: WriteBackupOptions): Promise<BackupManifest> {
  const { storage, kinds = [], past, signal } = options;
  // What a moment of the past refers to does not change.
  const attempts = past === undefined ? ATTEMPTS : 1;
  if (!storage.capabilities.snapshot) throw unsupported(storage.capabilities, "snapshots");
  const references = new DeclaredReferences(kinds);
  const lost = new Set<string>();
  await using folder = await BackupFolder.create(options.directory);
  const files = new BlobFiles(folder.path);
  await using copier = await BlobCopier.create(folder.path, files, options.blobs, lost);
  await copier.copyNew(signal);
  for (let attempt = 1; ; attempt += 1) {
    const copied = await copyResources(options, folder.path, references, files);
    await copier.copyNew(signal);
    const missing: string[] = [];
    for (const [sha256, name] of copied.absent) {
      if (await files.has(sha256)) continue;
      missing.push(`blob ${sha256} is missing, to which ${name} refers`);
    }
    if (missing.length > 0 && attempt < attempts) continue;
    const manifest: BackupManifest = {
      createdAt: new Date().toISOString(),
      store: { engine: storage.capabilities.engine, ...positionOf(copied.cursor) },
      resources: copied.resources,
      blobs: await copier.finish(),
      lost: namesOf([...lost, ...copied.unreadable, ...missing]),
    };
    await writeSynced(join(folder.path, MANIFEST_FILE), formatManifest(manifest));
    await folder.publish();
    return manifest;
  }
}

/** Copies blobs, each once. */
class BlobCopier implements AsyncDisposable {
  readonly #files: BlobFiles;
  readonly #blobs: BlobStore;
  readonly #lines: LineWriter;
  readonly #lost: Set<string>;
  #blobBytes = 0;

  constructor(files: BlobFiles, blobs: BlobStore, lines: LineWriter, lost: Set<string>) {
    this.#files = files;
    this.#blobs = blobs;
    this.#lines = lines;
    this.#lost = lost;
  }

  static async create(
    directory: string,
    files: BlobFiles,
    blobs: BlobStore,
    lost: Set<string>,
  ): Promise<BlobCopier> {
    const lines = await LineWriter.create(join(directory, BLOBS_FILE));
    return new BlobCopier(files, blobs, lines, lost);
  }

  /** Copies the blobs that are not copied yet. */
  async copyNew(signal: AbortSignal | undefined): Promise<void> {
    for await (const blob of this.#blobs.list({ ...(signal && { signal }) })) {
      const { sha256, size } = blob;
      if (await this.#files.has(sha256)) continue;
      try {
        await this.#files.copy(this.#blobs, sha256, signal);
      } catch (error) {
        // Collected since it was listed.
        if (isStorageError(error, "STORAGE_NOT_FOUND")) continue;
        if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
        this.#lost.add(`blob ${sha256} is damaged`);
        continue;
      }
      this.#blobBytes += size;
      await this.#lines.write(formatBlobLine(blob));
    }
  }

  async finish(): Promise<BackupManifest["blobs"]> {
    await this.#files.sync();
    return { ...(await this.#lines.finish()), blobBytes: this.#blobBytes };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lines[Symbol.asyncDispose]();
  }
}

interface CopiedResources {
  readonly resources: BackupFile;
  readonly cursor: string;
  /** Blobs that were not copied yet, each with a resource that refers to it. */
  readonly absent: ReadonlyMap<string, string>;
  /** Resources that are damaged, or of which the references cannot be read. */
  readonly unreadable: readonly string[];
}

async function copyResources(
  { storage, past, signal }: WriteBackupOptions,
  directory: string,
  references: DeclaredReferences,
  files: BlobFiles,
): Promise<CopiedResources> {
  const unreadable: string[] = [];
  const leaveOut = (name: string): void => {
    if (unreadable.length < MAX_LOST) unreadable.push(name);
  };
  const onDamaged = (damaged: DamagedResource): void => leaveOut(shownDamage(damaged));
  const call = { onDamaged, ...(signal && { signal }) };
  await using snapshot = await (past === undefined
    ? storage.snapshot(call)
    : past.store.snapshotAt(past.revision, call));
  const { cursor } = snapshot;
  if (cursor === undefined) throw unsupported(storage.capabilities, "backups over a connection");
  await using lines = await LineWriter.create(join(directory, RESOURCES_FILE));
  const absent = new Map<string, string>();
  for await (const resource of snapshot) {
    signal?.throwIfAborted();
    await lines.write(formatResourceLine(resource));
    try {
      for (const sha256 of references.of(resource)) {
        if (!(await files.has(sha256))) absent.set(sha256, shownResource(resource));
      }
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
      leaveOut(error.message);
    }
  }
  return { resources: await lines.finish(), cursor, absent, unreadable };
}

/** The parts of a cursor. */
function positionOf(cursor: string): { readonly line: string; readonly revision: number } {
  const end = cursor.lastIndexOf(".");
  const revision = Number(cursor.slice(end + 1));
  if (end < 0 || !Number.isSafeInteger(revision)) {
    throw new StorageError("STORAGE_INCONSISTENT", "the snapshot has no position");
  }
  return { line: cursor.slice(0, end), revision };
}

function namesOf(lost: readonly string[]): readonly string[] {
  if (lost.length <= MAX_LOST) return lost;
  return [...lost.slice(0, MAX_LOST), `${lost.length - MAX_LOST} more`];
}

async function writeSynced(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(text);
  await file.sync();
}
