import { GroupVersionMismatchError, StorageError } from "./errors.ts";
import type { Resource, ResourceId } from "./resource.ts";
import type { Guard } from "./types.ts";

// The rules of the contract as pure functions over what is stored. Engines in this process call
// them; engines that judge elsewhere (SQL, etcd) are compared with them by the conformance suite.
// The order of the checks can be observed and is part of the contract.

/** What the rules need to know of a stored resource. */
export interface StoredHead {
  readonly uid: string;
  readonly version: string;
}

/** The expected failures of a write. */
export type WriteRefusal = "STORAGE_WRONG_UID" | "STORAGE_CAS_FAILURE";

/** Judges a write: `undefined` lets it pass. The uid comes before the version. */
export function checkWritePreconditions(
  stored: StoredHead | undefined,
  uid: string,
  version: string,
): WriteRefusal | undefined {
  if (stored === undefined) return version === "" ? undefined : "STORAGE_CAS_FAILURE";
  if (stored.uid !== uid) return "STORAGE_WRONG_UID";
  return stored.version === version ? undefined : "STORAGE_CAS_FAILURE";
}

/** Judges a delete: `skip` is success without effect. */
export function checkDeletePreconditions(
  stored: StoredHead | undefined,
  uid: string,
  version: string,
): "delete" | "skip" | "STORAGE_CAS_FAILURE" {
  if (stored === undefined || stored.uid !== uid) return "skip";
  return stored.version === version ? "delete" : "STORAGE_CAS_FAILURE";
}

/** Whether a guard holds against what is stored under its name. */
export function guardHolds(
  stored: StoredHead | undefined,
  guard: { readonly id: Pick<ResourceId, "uid">; readonly version: string },
): boolean {
  if (guard.version === "") return stored === undefined;
  if (stored === undefined || stored.version !== guard.version) return false;
  return guard.id.uid === "" || guard.id.uid === stored.uid;
}

/** Judges a read and gives the stored resource, or throws. A wrong uid comes before a wrong group version. */
export function checkReadResult(stored: Resource | undefined, id: ResourceId): Resource {
  if (stored === undefined || (id.uid !== "" && id.uid !== stored.id.uid)) throw notFound(id);
  if (stored.id.type.groupVersion !== id.type.groupVersion) {
    throw new GroupVersionMismatchError(id.type, stored);
  }
  return stored;
}

/** The error of a read that finds nothing. */
export function notFound(id: ResourceId): StorageError {
  return new StorageError("STORAGE_NOT_FOUND", `"${id.name}" is not stored`, { details: { id } });
}

/** The error of a refused write or delete; `index` is the position in its batch. */
export function refused(
  code: WriteRefusal,
  id: ResourceId,
  version: string,
  index?: number,
): StorageError {
  const message =
    code === "STORAGE_WRONG_UID"
      ? `"${id.name}" is stored with another uid than "${id.uid}"`
      : version === ""
        ? `"${id.name}" exists already, or its version was not given`
        : `"${id.name}" is not stored at version "${version}"`;
  return new StorageError(code, message, {
    details: index === undefined ? { id } : { id, index },
  });
}

/** The error of a write whose guard does not hold. */
export function guardFailed(guard: Guard): StorageError {
  const expected = guard.version === "" ? "absent" : `at version "${guard.version}"`;
  return new StorageError("STORAGE_GUARD_FAILED", `guard "${guard.id.name}" is not ${expected}`, {
    details: { guard },
  });
}
