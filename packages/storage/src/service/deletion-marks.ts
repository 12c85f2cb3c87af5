import { StorageError } from "../errors.ts";
import type { Resource } from "../resource.ts";

/** Metadata key that marks a resource for deletion: when that was asked for, RFC 3339. */
export const DELETION_TIMESTAMP = "deletionTimestamp";

/** Metadata key with the finalizers of a resource, separated by spaces. */
export const FINALIZERS = "finalizers";

/** Whether a resource is to be deleted as soon as its finalizers are gone. */
export function isMarkedForDeletion(resource: Resource): boolean {
  return resource.metadata[DELETION_TIMESTAMP] !== undefined;
}

/** Who has to be done with a resource before it is deleted. */
export function finalizersOf(resource: Resource): ReadonlySet<string> {
  return new Set((resource.metadata[FINALIZERS] ?? "").split(" ").filter((name) => name !== ""));
}

/** The metadata without one finalizer; the entry goes with the last one. */
export function withoutFinalizer(
  metadata: Resource["metadata"],
  finalizer: string,
): Resource["metadata"] {
  const { [FINALIZERS]: names = "", ...rest } = metadata;
  const left = names.split(" ").filter((name) => name !== "" && name !== finalizer);
  return left.length === 0 ? rest : { ...rest, [FINALIZERS]: left.join(" ") };
}

/** A new resource cannot be marked already. */
export function checkCreation(resource: Resource): void {
  if (isMarkedForDeletion(resource)) throw refuse("a new resource cannot be marked for deletion");
}

/**
 * A resource that is marked changes in one way only: finalizers are taken away. One that is not
 * cannot be marked by a write, only by a delete.
 */
export function checkUpdate(stored: Resource, next: Resource): void {
  const mark = stored.metadata[DELETION_TIMESTAMP];
  if (next.metadata[DELETION_TIMESTAMP] !== mark) {
    throw refuse(
      mark === undefined
        ? "a resource is marked for deletion by deleting it"
        : "the deletion mark cannot be changed or removed",
    );
  }
  if (mark === undefined) return;
  const before = finalizersOf(stored);
  const after = finalizersOf(next);
  if (after.size >= before.size || !after.isSubsetOf(before)) {
    throw refuse("of a resource that is marked for deletion only finalizers may be removed");
  }
  if (!sameEntries(withoutFinalizers(stored), withoutFinalizers(next)) || !sameData(stored, next)) {
    throw refuse("a resource that is marked for deletion cannot be changed");
  }
}

function withoutFinalizers(resource: Resource): Readonly<Record<string, string>> {
  const { [FINALIZERS]: _, ...rest } = resource.metadata;
  return rest;
}

function sameEntries(
  left: Readonly<Record<string, string>>,
  right: Readonly<Record<string, string>>,
): boolean {
  const entries = Object.entries(left);
  return (
    entries.length === Object.keys(right).length &&
    entries.every(([key, value]) => Object.hasOwn(right, key) && right[key] === value)
  );
}

function sameData(left: Resource, right: Resource): boolean {
  if (left.data === undefined || right.data === undefined) return left.data === right.data;
  return (
    left.data.typeUrl === right.data.typeUrl &&
    Buffer.compare(left.data.value, right.data.value) === 0
  );
}

function refuse(message: string): StorageError {
  return new StorageError("STORAGE_INVALID_ARGUMENT", message, {
    details: { field: "resource.metadata" },
  });
}
