import {
  type CallOptions,
  isStorageError,
  listResourceHeads,
  type ResourceType,
  type StorageBackend,
} from "@stackwright/storage";
import { FENCE_TYPE, HEARTBEAT_TYPE } from "@stackwright/storage/lease";
import { STATE_KINDS, stackTenancy } from "./kinds.ts";
import type { StackReference } from "./stack-state.ts";

/** How often a resource that others write is looked for again. */
const ATTEMPTS = 5;

/**
 * Removes what the engine keeps of a stack: its state with all revisions, plans, runs and data keys, so that nothing can decrypt what blobs
 * or a backup have of it. For a stack that is not written any more; a repetition removes what an interruption left. Resolves with the number of resources.
 */
export async function removeStackState(
  storage: StorageBackend,
  stack: StackReference,
  options?: CallOptions,
): Promise<number> {
  const kinds = [...Object.values(STATE_KINDS), FENCE_TYPE, HEARTBEAT_TYPE];
  return removeStackKinds(storage, stack, kinds, options);
}

/** Removes the resources of some kinds that a stack has, whether one or many of a kind. */
export async function removeStackKinds(
  storage: StorageBackend,
  stack: StackReference,
  kinds: readonly ResourceType[],
  options?: CallOptions,
): Promise<number> {
  let removed = 0;
  for (const kind of kinds) {
    removed += await removeNamed(storage, { stack, kind, name: stack.stack }, options);
  }
  return removed;
}

/** Removes the resources of a kind in the project of a stack that have a name, or whose names continue it behind a dot. */
export async function removeNamed(
  storage: StorageBackend,
  given: { readonly stack: StackReference; readonly kind: ResourceType; readonly name: string },
  options?: CallOptions,
): Promise<number> {
  const { stack, kind, name } = given;
  const tenancy = stackTenancy(stack);
  let removed = 0;
  for (let attempt = 1; ; attempt += 1) {
    let isMissed = false;
    for await (const { id, version } of listResourceHeads(
      storage,
      "strong",
      kind,
      tenancy,
      name,
      options,
    )) {
      if (id.name !== name && !id.name.startsWith(`${name}.`)) continue;
      try {
        await storage.deleteCAS(id, version, options);
        removed += 1;
      } catch (error) {
        // It was written meanwhile.
        const isLost = isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID");
        if (!isLost || attempt >= ATTEMPTS) throw error;
        isMissed = true;
      }
    }
    if (!isMissed) return removed;
  }
}
