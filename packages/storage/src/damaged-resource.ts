import { isStorageError, StorageError } from "./errors.ts";
import { KEY_SEPARATOR } from "./key.ts";
import type { ResourceId } from "./resource.ts";

/** A resource of which the stored content is not what was written. */
export interface DamagedResource {
  /** Its identity and uid, which are stored beside the content. The group version is content, and empty. */
  readonly id: ResourceId;
  /** Names the damaged content: to write or delete this version replaces it. */
  readonly version: string;
  readonly reason: string;
  /** What is stored, as it is. */
  readonly body: Uint8Array;
}

/** The error of a call that a damaged resource ends; `where` names the store, where there is a name. */
export function damagedError(
  { id, version, reason }: Omit<DamagedResource, "body">,
  where = "",
): StorageError {
  const place = where === "" ? "" : `${where}: `;
  return new StorageError(
    "STORAGE_CORRUPT",
    `${place}${describeStored(id, version)} is damaged (${reason}); write or delete this version of it, ` +
      "or restore the store from a backup",
    { details: { id } },
  );
}

/** A resource and its version, for a text. */
export function describeStored({ name, type, tenancy }: ResourceId, version: string): string {
  const { partition, peerName, namespace } = tenancy;
  const scope = `${partition}/${peerName}/${namespace}`;
  return `${type.group} ${type.kind} "${name}" (${scope}, version ${version})`;
}

/** The id that a key and a uid stand for. */
export function idOfKey(key: string | readonly string[], uid: string): ResourceId {
  const fields = typeof key === "string" ? key.split(KEY_SEPARATOR) : key;
  const [group = "", kind = "", partition = "", peerName = "", namespace = "", name = ""] = fields;
  const tenancy = { partition, peerName, namespace };
  return { uid, name, type: { group, groupVersion: "", kind }, tenancy };
}

/**
 * What rows stand for, in their order. A row that is damaged goes to `onDamaged` and is left out; without that it
 * fails all of them, as a list without it would claim that it does not exist.
 */
export function decodeEach<R, T>(
  rows: readonly R[],
  decode: (row: R) => T,
  describe: (row: R, reason: string) => DamagedResource,
  onDamaged?: (damaged: DamagedResource) => void,
): readonly T[] {
  const decoded: T[] = [];
  for (const row of rows) {
    try {
      decoded.push(decode(row));
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
      const damaged = describe(row, error.message);
      if (onDamaged === undefined) throw damagedError(damaged);
      onDamaged(damaged);
    }
  }
  return decoded;
}
