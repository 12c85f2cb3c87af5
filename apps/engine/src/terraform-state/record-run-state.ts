import type { StateVersion } from "@stackwright/proto/stackwright";
import { ServerError } from "../domain/server-error.ts";
import { type RunClaim, requireClaim } from "../queue/claim.ts";
import { readRun, requireAt } from "../queue/run-row.ts";
import { isOutside, readStackTool } from "../queue/stack-tool.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import type { StateContent } from "./state-content.ts";
import { appendVersion, currentVersionOf, readKeptState } from "./state-versions.ts";

/**
 * Records the state that a tool has written so far while it applies a run. All that one apply writes is one version, whose content is
 * the newest: what an interrupted apply leaves is what was recorded last.
 *
 * `claim_lost`; `state_conflict` for a state that does not follow the present one.
 */
export async function recordRunState(
  parts: TransactionParts,
  claim: RunClaim,
  content: StateContent,
): Promise<StateVersion> {
  const { stack, run: id } = claim.reference;
  return transact(parts, async (tx) => {
    await requireClaim(tx, claim);
    const run = requireAt(await readRun(tx, claim.reference), "applying");
    tx.guardRow(run.row);
    if (!isOutside((await readStackTool(tx, stack)).message)) {
      throw new ServerError("engine_state", "the engine has the state of the stack");
    }
    const operation = `run:${id}`;
    const kept = await readKeptState(tx, stack);
    const row = await currentVersionOf(tx, stack, kept.message);
    const current = row?.message;
    if (current !== undefined && current.lineage !== content.lineage) {
      throw new ServerError(
        "state_conflict",
        `the tool wrote a state of the lineage "${content.lineage}", and that of the stack has "${current.lineage}"`,
      );
    }
    if (current?.serial === content.serial && current.md5 === content.md5) return current;
    if (row !== undefined && current?.operation === operation) {
      if (content.serial < current.serial) throw older(content, current);
      tx.update(row, { ...content, createdAtMs: BigInt(tx.nowMs) });
      return row.message;
    }
    if (current !== undefined && content.serial <= current.serial) throw older(content, current);
    return appendVersion(tx, stack, kept, {
      ...content,
      actor: run.row.message.actor,
      operation,
      who: claim.worker.id,
      restoredFrom: 0n,
      replaced: current?.number ?? 0n,
      lineageChanged: false,
    });
  });
}

function older(content: StateContent, current: StateVersion): ServerError {
  return new ServerError(
    "state_conflict",
    `the tool wrote a state with the serial ${content.serial}, and that of the stack has ${current.serial}`,
  );
}
