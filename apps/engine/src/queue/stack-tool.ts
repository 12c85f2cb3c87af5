import type { StackReference } from "@stackwright/core";
import { StackTool } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf, type Row, type Transaction } from "./transaction.ts";

/** The tool of a stack for which nothing else was said. */
export const ENGINE_TOOL = "stackwright";

/** No run is executed: terraform or tofu commands plan and apply the stack where they run, and store its state here. */
export const COMMANDS_TOOL = "commands";

/** Equal plans in a row after which a stack may be adopted, where nothing else was said. */
const ADOPT_AFTER = 10;

/** Code of an apply by a tool of which it is not known what it did. */
export const APPLY_UNKNOWN = "apply_unknown";

/** Which tool plans and applies a stack; a guard of what depends on it. */
export async function readStackTool(
  tx: Transaction,
  stack: StackReference,
): Promise<Row<StackTool>> {
  const place = stackPlace(stack);
  const row = await tx.findOrNew(SERVER_KINDS.tool, place, initialTool);
  tx.guard({ id: row.id, version: row.resource?.version ?? "" });
  return row;
}

/** The run whose apply by the tool of a stack had an unknown outcome, so that somebody looks at the next plan; empty without one. Guarded. */
export async function unclearApply(tx: Transaction, stack: StackReference): Promise<string> {
  return (await readStackTool(tx, stack)).message.attention;
}

/** The same as {@link readStackTool} without a transaction. */
export async function findStackTool(
  storage: StorageBackend,
  stack: StackReference,
): Promise<StackTool> {
  const found = await readStored(storage, "strong", idOf(SERVER_KINDS.tool, stackPlace(stack)));
  return found === undefined ? initialTool() : decodeRecord(SERVER_KINDS.tool, found);
}

function initialTool(): StackTool {
  return StackTool.create({ tool: ENGINE_TOOL, adoptAfter: ADOPT_AFTER });
}

/** Whether an installed program plans and applies, on a worker or where commands run, and not the engine. */
export function isOutside({ tool }: Pick<StackTool, "tool">): boolean {
  return tool !== ENGINE_TOOL && tool !== "";
}
