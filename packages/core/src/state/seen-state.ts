import { StackHead as HeadMessage } from "@stackwright/proto/stackwright";
import {
  type CallOptions,
  isStorageError,
  readStored,
  type StorageBackend,
} from "@stackwright/storage";
import { decodeKind, STATE_KINDS, stackResourceId, stackTenancy } from "./kinds.ts";
import { type ProjectReference, STACK_KIND, StackDirectory } from "./stack-directory.ts";

/** A state by its identity: of equal ones, all of the state is equal. */
export interface SeenState {
  /** ULID of the stack, which another stack of the same name does not have; empty where nothing was ever written. */
  readonly stack: string;
  readonly revision: bigint;
}

/** A stack by its name, which it need not have yet. */
export interface StackPlace {
  readonly storage: StorageBackend;
  readonly project: ProjectReference;
  readonly name: string;
}

/** The state of a stack that nothing was ever written for. */
export const NOTHING_WRITTEN: SeenState = Object.freeze({ stack: "", revision: 0n });

/** Which state a stack has at the moment. */
export async function seeState(place: StackPlace, options?: CallOptions): Promise<SeenState> {
  const stack = await findStack(place, options);
  if (stack === undefined) return NOTHING_WRITTEN;
  const id = stackResourceId(stack, STATE_KINDS.head);
  const stored = await readStored(place.storage, "strong", id, options);
  const revision = stored === undefined ? 0n : decodeKind(stored, HeadMessage).revision;
  return revision === 0n ? NOTHING_WRITTEN : { stack: stack.stack, revision };
}

/** Whether a stack still has the state that was seen. */
export async function hasState(
  place: StackPlace,
  seen: SeenState,
  options?: CallOptions,
): Promise<boolean> {
  const { stack, revision } = await seeState(place, options);
  return stack === seen.stack && revision === seen.revision;
}

/**
 * Resolves once a stack has another state than the one that was seen, or once the store cannot say any more that it has not, as after its
 * restore. Follows the store: nothing is read before it says that the stack was written.
 */
export async function untilOtherState(
  place: StackPlace,
  seen: SeenState,
  { signal }: { readonly signal: AbortSignal },
): Promise<void> {
  for (;;) {
    const stack = await findStack(place, { signal });
    const { storage, project, name } = place;
    const [kind, written] =
      stack === undefined ? [STACK_KIND, name] : [STATE_KINDS.head, stack.stack];
    const tenancy = stackTenancy({ ...project, stack: "" });
    using watch = await storage.watchList(kind, tenancy, written, { signal });
    if (!(await hasState(place, seen, { signal }))) return;
    try {
      for (;;) {
        const event = await watch.next({ signal });
        if (!("resource" in event) || event.resource.id.name !== written) continue;
        if (stack === undefined) break;
        if (!(await hasState(place, seen, { signal }))) return;
      }
    } catch (error) {
      if (isStorageError(error, "STORAGE_WATCH_CLOSED")) return;
      throw error;
    }
  }
}

async function findStack({ storage, project, name }: StackPlace, options?: CallOptions) {
  return (await new StackDirectory({ storage }).find(project, name, options))?.reference;
}
