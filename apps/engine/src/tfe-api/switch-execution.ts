import { readStored } from "@stackwright/storage";
import type { ExecutionMode, TfeCaller } from "@stackwright/tfe";
import { STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { COMMANDS_TOOL, ENGINE_TOOL, findStackTool } from "../queue/stack-tool.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import { requireIdle, switchTool } from "../stack-tool/switch-tool.ts";
import type { ServedParts } from "../terraform-state/served-state.ts";
import { findCurrentVersion } from "../terraform-state/state-versions.ts";
import type { StoredWorkspace } from "../workspace/workspace-directory.ts";

/**
 * Hands the state of a workspace over to what will plan and apply it: to the commands of its users, or to the server. One that has no state
 * is only checked. `conflict` while a run is under way, `stack_locked` under a lock, `forbidden` where there is a state and the caller is no
 * administrator.
 */
export async function switchExecution(
  parts: TransactionParts & ServedParts,
  { stack }: StoredWorkspace,
  mode: ExecutionMode,
  caller: TfeCaller,
): Promise<void> {
  const { storage } = parts;
  const { reference } = stack;
  const [{ tool: present }, version, head] = await Promise.all([
    findStackTool(storage, reference),
    findCurrentVersion(storage, reference),
    readStored(storage, "strong", idOf(STACK_HEAD_KIND, stackPlace(reference))),
  ]);
  const isOfCommands = present === COMMANDS_TOOL;
  const hasState = version !== undefined || head !== undefined;
  if (!hasState && !isOfCommands) {
    await transact(parts, async (tx) => requireIdle(tx, stack));
    return;
  }
  if (!caller.isAdmin) {
    throw new ServerError(
      "forbidden",
      "the workspace has a state, which is handed over; that needs the role registry:admin",
    );
  }
  // A tool of the server is another way of the same execution.
  const isOfTool = !isOfCommands && present !== ENGINE_TOOL;
  if (mode === "remote" && isOfTool) return;
  await switchTool(parts, {
    stack,
    actor: caller.actor,
    signal: new AbortController().signal,
    tool: mode === "local" ? COMMANDS_TOOL : ENGINE_TOOL,
  });
}
