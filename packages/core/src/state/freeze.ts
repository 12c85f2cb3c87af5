import { Freeze as FreezeMessage } from "@stackwright/proto/stackwright";
import { type ResourceType, readStored, type StorageBackend } from "@stackwright/storage";
import { decodeKind, stackResourceId } from "./kinds.ts";
import type { StackReference } from "./stack-state.ts";

/** Type of the resource that says that nothing of a project or a stack may begin to be applied. */
export const FREEZE_KIND: ResourceType = Object.freeze({
  group: "stackwright",
  groupVersion: "v1",
  kind: "Freeze",
});

/** What keeps plans from being applied. */
interface FoundFreeze {
  readonly of: "project" | "stack";
  /** Id of the credential. */
  readonly actor: string;
  readonly reason: string;
  /** When it ends by itself, in milliseconds since 1970; undefined for never. */
  readonly untilMs: number | undefined;
}

/** The freeze of a stack or its project; undefined where there is none, or all have ended by themselves. */
export async function readFreeze(
  storage: StorageBackend,
  stack: StackReference,
  nowMs: number,
): Promise<FoundFreeze | undefined> {
  const places = [
    // The stack first: a token for single stacks does not see the other one, and fails there.
    { of: "stack", id: stackResourceId(stack, FREEZE_KIND) },
    { of: "project", id: stackResourceId({ ...stack, stack: "project" }, FREEZE_KIND) },
  ] as const;
  for (const { of, id } of places) {
    const found = await readStored(storage, "strong", id);
    if (found === undefined) continue;
    const { actor, reason, untilMs } = decodeKind(found, FreezeMessage);
    if (untilMs === 0n) return { of, actor, reason, untilMs: undefined };
    if (Number(untilMs) > nowMs) return { of, actor, reason, untilMs: Number(untilMs) };
  }
  return undefined;
}
