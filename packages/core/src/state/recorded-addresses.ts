import { StateObject as ObjectMessage, StateObject_Phase } from "@stackwright/proto/stackwright";
import type { CallOptions, StorageBackend } from "@stackwright/storage";
import { decodeKind, memberPrefix, STATE_KINDS, stackTenancy } from "./kinds.ts";
import type { StackReference } from "./stack-state.ts";
import type { StateObject } from "./state-object.ts";

/** The addresses of the recorded objects of a stack, without placeholders. Decrypts nothing, so that no key is needed. */
export async function recordedAddresses(
  storage: StorageBackend,
  reference: StackReference,
  options?: CallOptions,
): Promise<readonly Pick<StateObject, "address" | "deposed">[]> {
  const resources = await storage.list(
    "strong",
    STATE_KINDS.object,
    stackTenancy(reference),
    memberPrefix(reference),
    options,
  );
  return resources.flatMap((resource) => {
    const { address, deposed, phase, operation } = decodeKind(resource, ObjectMessage);
    const isPlaceholder = phase === StateObject_Phase.PHASE_CREATING && operation?.started !== true;
    return isPlaceholder ? [] : [{ address, deposed }];
  });
}
