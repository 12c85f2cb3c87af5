import { StackTool } from "@stackwright/proto/stackwright";
import { type ResourceType, readStored, type StorageBackend } from "@stackwright/storage";
import { decodeKind, stackResourceId } from "./kinds.ts";
import type { StackReference } from "./stack-state.ts";

/** Type of the resource that says which tool plans and applies a stack on a server. */
export const STACK_TOOL_KIND: ResourceType = Object.freeze({
  group: "stackwright",
  groupVersion: "v1",
  kind: "StackTool",
});

/**
 * The program that executes the runs of a stack on a server, and has its state; undefined where the engine does. What the engine
 * recorded of such a stack is from before, so that nothing is planned or written with it.
 */
export async function findOutsideTool(
  storage: StorageBackend,
  stack: StackReference,
): Promise<string | undefined> {
  const found = await readStored(storage, "strong", stackResourceId(stack, STACK_TOOL_KIND));
  const tool = found === undefined ? "" : decodeKind(found, StackTool).tool;
  return tool === "" || tool === "stackwright" ? undefined : tool;
}
