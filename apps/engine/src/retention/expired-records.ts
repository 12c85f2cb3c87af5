import {
  isStorageError,
  listResources,
  type Resource,
  type ResourceId,
  type StorageBackend,
  WILDCARD,
} from "@stackwright/storage";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** A record that may be past its time. */
interface ReadRecord<M> {
  readonly id: ResourceId;
  readonly version: string;
  readonly message: M;
}

/** The records of a kind in all accounts, without those that are damaged or of a newer release: these are not ours to remove, and keep none of the others. */
export async function* readableRecords<M>(
  storage: StorageBackend,
  kind: RecordKind<M>,
  signal: AbortSignal,
): AsyncGenerator<ReadRecord<M>, undefined> {
  const options = { signal, onDamaged: () => undefined };
  for await (const one of listResources(storage, "strong", kind.type, ANYWHERE, "", options)) {
    const message = readableRecord(kind, one);
    if (message !== undefined) yield { id: one.id, version: one.version, message };
  }
}

/** Removes a record as it was read. False for one that was written meanwhile: it is in use. */
export async function removeExpired(
  storage: StorageBackend,
  { id, version }: Pick<Resource, "id" | "version">,
): Promise<boolean> {
  try {
    await storage.deleteCAS(id, version);
    return true;
  } catch (error) {
    if (isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) return false;
    throw error;
  }
}

/** What a record holds; undefined for one that is damaged or of a newer release. */
export function readableRecord<M>(kind: RecordKind<M>, resource: Resource): M | undefined {
  try {
    return decodeRecord(kind, resource);
  } catch {
    return undefined;
  }
}
