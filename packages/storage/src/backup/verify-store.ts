import type { BlobReferenceKind } from "../blob/collect-unreferenced.ts";
import type { BlobStore } from "../blob/types.ts";
import type { DamagedResource } from "../damaged-resource.ts";
import { isStorageError } from "../errors.ts";
import type { Resource } from "../resource.ts";
import type { CallOptions, StorageBackend } from "../types.ts";
import { shownDamage } from "./damaged-resources.ts";
import { DeclaredReferences } from "./declared-references.ts";
import { shownResource } from "./resource-line.ts";

/** Options of {@link verifyStore}. */
export interface VerifyStoreOptions extends CallOptions {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  /** Kinds whose references to blobs are known, so that lost blobs are noticed. @default none */
  readonly kinds?: readonly BlobReferenceKind[];
  /** Receives each damaged record by name, as it is found. */
  readonly onProblem?: (problem: string) => void;
}

/** What a verification has read. */
export interface StoreVerification {
  readonly resources: number;
  readonly blobs: number;
  readonly blobBytes: number;
  /** Damaged records. */
  readonly problems: number;
}

/**
 * Reads all resources and blobs of a store, while others write to it, and compares them with what the engine
 * recorded of them.
 */
export async function verifyStore(options: VerifyStoreOptions): Promise<StoreVerification> {
  const { storage, blobs, kinds = [], onProblem, signal } = options;
  const call = signal === undefined ? {} : { signal };
  const references = new DeclaredReferences(kinds);
  let problems = 0;
  const report = (problem: string): void => {
    problems += 1;
    onProblem?.(problem);
  };
  /** Runs a check; what is damaged is reported. */
  const check = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
      report(error.message);
    }
  };
  let resources = 0;
  await check(async () => {
    const onDamaged = (damaged: DamagedResource): void => report(shownDamage(damaged));
    await using snapshot = await storage.snapshot({ ...call, onDamaged });
    for await (const resource of snapshot) {
      signal?.throwIfAborted();
      resources += 1;
      await check(async () => {
        for (const sha256 of references.of(resource)) {
          if (await exists(blobs, sha256, call)) continue;
          if (!(await isStored(storage, resource, call))) break;
          report(`blob ${sha256} is missing, to which ${shownResource(resource)} refers`);
        }
      });
    }
  });
  let count = 0;
  let blobBytes = 0;
  for await (const { sha256, size } of blobs.list(call)) {
    await check(async () => {
      try {
        for await (const _bytes of blobs.read(sha256, call)) signal?.throwIfAborted();
      } catch (error) {
        // Collected since it was listed.
        if (isStorageError(error, "STORAGE_NOT_FOUND")) return;
        throw error;
      }
      count += 1;
      blobBytes += size;
    });
  }
  return { resources, blobs: count, blobBytes, problems };
}

async function exists(blobs: BlobStore, sha256: string, call: CallOptions): Promise<boolean> {
  try {
    for await (const _bytes of blobs.read(sha256, { ...call, length: 0 })) break;
    return true;
  } catch (error) {
    // A damaged one is reported as a blob.
    if (isStorageError(error, "STORAGE_CORRUPT")) return true;
    if (isStorageError(error, "STORAGE_NOT_FOUND")) return false;
    throw error;
  }
}

/** Whether the store still holds a resource as it was read. */
async function isStored(
  storage: StorageBackend,
  resource: Resource,
  call: CallOptions,
): Promise<boolean> {
  try {
    const { version } = await storage.read("eventual", resource.id, call);
    return version === resource.version;
  } catch (error) {
    if (isStorageError(error, "STORAGE_NOT_FOUND")) return false;
    throw error;
  }
}
