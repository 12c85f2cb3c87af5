import type { NamedStack } from "@stackwright/core";
import { Workspace } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import { type Place, RUN_KIND, runPlace } from "../domain/run-places.ts";
import { phaseOf } from "../queue/run-row.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import { removeWorkspace } from "../stack-deletion/remove-workspace.ts";
import { WorkspaceDirectory } from "../workspace/workspace-directory.ts";
import type { RfsParts } from "./rfs-parts.ts";

/** Records that one step removes. */
const STEP = 20;

/** Whether the run that destroys the objects of a stack which is to be removed has done so. */
export async function isDeletionDone(
  { storage }: RfsParts,
  { reference: stack }: NamedStack,
  deletionRun: string,
): Promise<boolean> {
  if (deletionRun === "") return false;
  const id = idOf(RUN_KIND, runPlace({ stack, run: deletionRun }));
  const found = await readStored(storage, "strong", id);
  if (found === undefined) return false;
  const phase = phaseOf(decodeRecord(RUN_KIND, found));
  return phase === "applied" || phase === "no_changes";
}

/** Removes a stack without objects, and what is kept with it. `conflict` where it has some, or a run. */
export async function removeRfsStack(parts: RfsParts, stack: NamedStack): Promise<void> {
  const { account, stack: id, project } = stack.reference;
  const known = await new WorkspaceDirectory(parts).get(account, id);
  const record =
    known?.record ?? Workspace.fromPartial({ name: stack.name, project, stackName: stack.name });
  await removeWorkspace(parts, { stack, record }, { force: false, ignoresProtection: true });
}

/** Removes the records of a kind whose names begin with that of a place. */
export async function removeAll<M>(
  parts: TransactionParts,
  kind: RecordKind<M>,
  { tenancy, name: prefix }: Place,
): Promise<void> {
  const found = await parts.storage.list("strong", kind.type, tenancy, prefix);
  for (let at = 0; at < found.length; at += STEP) {
    await transact(parts, async (tx) => {
      for (const { id } of found.slice(at, at + STEP)) {
        const row = await tx.find(kind, { tenancy, name: id.name });
        if (row !== undefined) tx.remove(row);
      }
    });
  }
}
