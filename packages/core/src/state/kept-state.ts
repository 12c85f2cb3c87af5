import { KeptState } from "@stackwright/proto/stackwright";
import { type ResourceType, readStored, type StorageBackend } from "@stackwright/storage";
import { decodeKind, STATE_KINDS, stackResourceId } from "./kinds.ts";
import type { StackReference } from "./stack-state.ts";

/** Type of the resource that says that terraform or tofu commands keep the state of a stack on a server. */
export const KEPT_STATE_KIND: ResourceType = Object.freeze({
  group: "stackwright",
  groupVersion: "v1",
  kind: "KeptState",
});

/**
 * Whether terraform or tofu commands have the state of a stack, which they keep on a server: then what the engine would record beside
 * it neither they nor it would know as a whole. A stack that the engine has changed belongs to it.
 */
export async function isStateKept(
  storage: StorageBackend,
  stack: StackReference,
): Promise<boolean> {
  const kept = await readStored(storage, "strong", stackResourceId(stack, KEPT_STATE_KIND));
  if (kept === undefined || decodeKind(kept, KeptState).current === 0n) return false;
  const head = await readStored(storage, "strong", stackResourceId(stack, STATE_KINDS.head));
  return head === undefined;
}
