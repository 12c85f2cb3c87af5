import { StackLock as StackLockMessage } from "@stackwright/proto/stackwright";
import { type ResourceType, readStored, type StorageBackend } from "@stackwright/storage";
import { decodeKind, stackResourceId } from "./kinds.ts";
import type { StackReference } from "./stack-state.ts";

/** Type of the resource that says that a user of a server has locked a stack. */
export const HUMAN_LOCK_KIND: ResourceType = Object.freeze({
  group: "stackwright",
  groupVersion: "v1",
  kind: "StackLock",
});

/** A lock that somebody put on a stack, with a reason. */
export interface HumanLock {
  /** Id of the credential. */
  readonly actor: string;
  readonly reason: string;
  /** When it ends by itself, in milliseconds since 1970; undefined for never. */
  readonly untilMs: number | undefined;
}

/** The lock of a stack; undefined where there is none, or it has ended by itself. */
export async function readHumanLock(
  storage: StorageBackend,
  stack: StackReference,
  nowMs: number,
): Promise<HumanLock | undefined> {
  const found = await readStored(storage, "strong", stackResourceId(stack, HUMAN_LOCK_KIND));
  if (found === undefined) return undefined;
  const { actor, reason, untilMs } = decodeKind(found, StackLockMessage);
  if (untilMs === 0n) return { actor, reason, untilMs: undefined };
  return Number(untilMs) <= nowMs ? undefined : { actor, reason, untilMs: Number(untilMs) };
}
