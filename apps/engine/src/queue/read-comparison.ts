import { isEnded, type StackReference } from "@stackwright/core";
import { type PlanComparison, PlanComparison_Outcome } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { phaseOf } from "./run-row.ts";
import { idOf } from "./transaction.ts";

const { OUTCOME_DIFFERENT, OUTCOME_EQUAL, OUTCOME_FAILED } = PlanComparison_Outcome;
const OUTCOMES: Partial<Record<PlanComparison_Outcome, ComparisonOutcome>> = {
  [OUTCOME_EQUAL]: "equal",
  [OUTCOME_DIFFERENT]: "different",
  [OUTCOME_FAILED]: "failed",
};

type ComparisonOutcome = "pending" | "equal" | "different" | "failed";

/** How the plan of a tool compares with that of the engine, as it is known by now. */
export interface ReadComparison {
  readonly comparison: PlanComparison;
  readonly outcome: ComparisonOutcome;
  /** Why nothing was compared; empty where something was, or will be. */
  readonly reason: string;
}

/** Undefined where the plan of a run is not compared. One whose run ended without a result has failed, too. */
export async function readComparison(
  storage: StorageBackend,
  reference: RunReference,
): Promise<ReadComparison | undefined> {
  const id = idOf(SERVER_KINDS.comparison, runPlace(reference));
  const found = await readStored(storage, "strong", id);
  if (found === undefined) return undefined;
  return judge(storage, reference, decodeRecord(SERVER_KINDS.comparison, found));
}

/** A comparison with the run whose plan was compared. */
interface ListedComparison extends ReadComparison {
  readonly run: string;
}

/** The newest comparisons of a stack, the newest first. Retention bounds the runs of a stack, so that all of them can be read. */
export async function listComparisons(
  storage: StorageBackend,
  stack: StackReference,
  limit: number,
): Promise<readonly ListedComparison[]> {
  const { tenancy, name } = memberPlace(stack, "");
  const stored = await storage.list("strong", SERVER_KINDS.comparison.type, tenancy, name);
  const all = stored.map((one) => ({
    run: one.id.name.slice(name.length),
    comparison: decodeRecord(SERVER_KINDS.comparison, one),
  }));
  const newest = all
    .toSorted((a, b) => Number(b.comparison.number - a.comparison.number))
    .slice(0, limit);
  return Promise.all(
    newest.map(async ({ run, comparison }) => ({
      run,
      ...(await judge(storage, { stack, run }, comparison)),
    })),
  );
}

async function judge(
  storage: StorageBackend,
  reference: RunReference,
  comparison: PlanComparison,
): Promise<ReadComparison> {
  const known = OUTCOMES[comparison.outcome];
  if (known !== undefined) return { comparison, outcome: known, reason: comparison.reason };
  const shadow = idOf(RUN_KIND, runPlace({ ...reference, run: comparison.shadowRun }));
  const stored = await readStored(storage, "strong", shadow);
  const run = stored && decodeRecord(RUN_KIND, stored);
  if (run !== undefined && !isEnded(phaseOf(run))) {
    return { comparison, outcome: "pending", reason: "" };
  }
  return { comparison, outcome: "failed", reason: run?.reason || "its run was removed" };
}
