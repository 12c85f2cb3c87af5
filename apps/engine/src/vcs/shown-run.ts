import { isEnded, type RunPhase } from "@stackwright/core";
import type { PlanSummary, PolicyResult, Run, VcsRun } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type ReadComparison, readComparison } from "../queue/read-comparison.ts";
import { phaseOf } from "../queue/run-row.ts";
import { idOf } from "../queue/transaction.ts";
import type { VcsParts } from "./vcs-parts.ts";
import type { ConnectionReference } from "./vcs-places.ts";

/** A run of a pull request as it is now. */
export interface ShownRun {
  readonly stack: string;
  /** Why there is no run, or why its plan is not applied; empty where there is nothing to say. */
  readonly problem: string;
  readonly reference: RunReference | undefined;
  readonly run: Run | undefined;
  readonly phase: RunPhase | undefined;
  readonly summary: PlanSummary | undefined;
  /** What policies said about the plan; undefined where none did. */
  readonly policies: PolicyResult | undefined;
  /** How the engine plans what a tool planned; undefined where that is not compared. */
  readonly comparison?: ReadComparison | undefined;
  /** Nothing of it changes by itself. */
  readonly isSettled: boolean;
}

export async function readShownRun(
  { storage }: Pick<VcsParts, "storage">,
  { account, project }: ConnectionReference,
  { stack, stackId, run: id, problem }: VcsRun,
): Promise<ShownRun> {
  const none = { stack, problem, reference: undefined, run: undefined };
  const nothing = {
    ...none,
    phase: undefined,
    summary: undefined,
    policies: undefined,
    isSettled: true,
  };
  if (id === "") return nothing;
  const reference: RunReference = { stack: { account, project, stack: stackId }, run: id };
  const place = runPlace(reference);
  const [storedRun, storedSummary, storedPolicies] = await Promise.all([
    readStored(storage, "strong", idOf(RUN_KIND, place)),
    readStored(storage, "strong", idOf(SERVER_KINDS.summary, place)),
    readStored(storage, "strong", idOf(SERVER_KINDS.policyResult, place)),
  ]);
  if (storedRun === undefined) {
    return { ...nothing, problem: problem === "" ? "the run was removed" : problem };
  }
  const run = decodeRecord(RUN_KIND, storedRun);
  const phase = phaseOf(run);
  const summary = storedSummary && decodeRecord(SERVER_KINDS.summary, storedSummary);
  const policies = storedPolicies && decodeRecord(SERVER_KINDS.policyResult, storedPolicies);
  const comparison = run.tool === "" ? undefined : await readComparison(storage, reference);
  const isOfPlan = summary !== undefined && summary.planDigest === run.planDigest;
  return {
    stack,
    problem,
    reference,
    run,
    phase,
    summary: isOfPlan ? summary : undefined,
    policies: policies?.planDigest === run.planDigest ? policies : undefined,
    comparison,
    isSettled: isEnded(phase) && comparison?.outcome !== "pending",
  };
}
