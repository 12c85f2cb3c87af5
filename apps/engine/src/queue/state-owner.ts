import type { NamedStack, StackReference } from "@stackwright/core";
import type { Run } from "@stackwright/proto/stackwright";
import { projectTenancy, STACK_HEAD_KIND, STACK_KIND, stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { COMMANDS_TOOL, isOutside, readStackTool } from "./stack-tool.ts";
import type { Transaction } from "./transaction.ts";

// A stack has its state in the engine, or keeps that of terraform and tofu commands, never both: what one of them changed the
// other would not know. The engine has it from the first run on, a kept state exists from its first version on. Whoever
// makes the first of either does so under guards on the records of the other, so that only one of two at once succeeds.
// Where the runs of a stack are executed by a tool, its state is a kept one, whatever the engine had before.

/**
 * The tool of the runs of a stack. `kept_state` where the engine is it and a command has the state of the stack, now or in the moment of
 * the write.
 */
export async function requireRunTool(
  tx: Transaction,
  stack: StackReference,
): Promise<Pick<Run, "tool" | "toolVersion">> {
  const { message } = await readStackTool(tx, stack);
  if (message.tool === COMMANDS_TOOL) {
    throw new ServerError(
      "kept_state",
      "terraform or tofu commands plan and apply this stack where they run; let the server do that, with: stackwright stacks tool --set stackwright",
    );
  }
  if (isOutside(message)) return { tool: message.tool, toolVersion: message.version };
  await requireEngineState(tx, stack);
  return { tool: "", toolVersion: "" };
}

async function requireEngineState(tx: Transaction, stack: StackReference): Promise<void> {
  const place = stackPlace(stack);
  const kept = await tx.find(SERVER_KINDS.keptState, place);
  if (kept === undefined) {
    tx.guardAbsent(SERVER_KINDS.keptState, place);
    return;
  }
  if (kept.message.current !== 0n) {
    throw new ServerError(
      "kept_state",
      "terraform or tofu commands keep the state of this stack, so that the server plans nothing for it; take its objects over first, with: stackwright adopt",
    );
  }
  tx.guardRow(kept);
}

/** Whether the state of a stack that the engine took over belongs again to whom it was of. */
export function isHandedBack({ adoption }: Pick<NamedStack, "adoption">): boolean {
  return adoption?.kind === "state" && adoption.handedBack;
}

/** `engine_state` where the engine has the state of a stack, or runs that will, now or in the moment of the write. */
export async function requireKeptState(
  tx: Transaction,
  { stack, name }: { readonly stack: StackReference; readonly name: string },
): Promise<void> {
  const named = await tx.get(STACK_KIND, { tenancy: projectTenancy(stack), name });
  if (named.message.id !== stack.stack) throw new ServerError("not_found");
  tx.guardRow(named);
  const place = stackPlace(stack);
  const origin = named.message.adoption?.origin;
  // What was handed back belongs to the command again.
  const isOfCommands = origin?.$case === "state" && origin.value.handedBack;
  const isKept = isOfCommands || isOutside((await readStackTool(tx, stack)).message);
  const head = await tx.find(STACK_HEAD_KIND, place);
  if (head === undefined) tx.guardAbsent(STACK_HEAD_KIND, place);
  else if (isKept) tx.guardRow(head);
  else {
    throw new ServerError(
      "engine_state",
      `Stackwright runs the stack "${name}", so that its state is read-only here: rename, forget and import objects with moved, removed and import blocks, and create one again with -replace, or edit its state with: stackwright state mv, rm and taint; take the objects of another state over with: stackwright adopt`,
    );
  }
  const queue = await tx.find(SERVER_KINDS.queue, place);
  if (queue === undefined) tx.guardAbsent(SERVER_KINDS.queue, place);
  else if (queue.message.current === "" && queue.message.pending.length === 0) tx.guardRow(queue);
  else throw new ServerError("engine_state", `the stack "${name}" has runs that are not ended`);
}
