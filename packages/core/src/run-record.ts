import type { Diagnostic } from "@stackwright/lang";
import type { ApplyResult } from "./apply/execute.ts";
import { isEngineError } from "./errors.ts";
import { hasChanges, type Plan } from "./plan/plan.ts";
import { planDigest } from "./plan/plan-codec.ts";
import type { PlanDocuments } from "./state/plan-documents.ts";
import type { NewRun, Run, RunPatch, RunPhase, Runs } from "./state/runs.ts";
import type { StackHead } from "./state/stack-state.ts";

/**
 * Records the phases of one run, by the table of the runs. Only the phases of the engine itself are written here; that
 * a plan waits for approval, is approved or is discarded is written by the component that asks for approval.
 */
export class RunRecord {
  readonly #runs: Runs;
  #run: Run;

  private constructor(runs: Runs, run: Run) {
    this.#runs = runs;
    this.#run = run;
  }

  /** The record of a run; made where there is none. */
  static async open(runs: Runs, run: NewRun): Promise<RunRecord> {
    return new RunRecord(runs, await runs.create(run));
  }

  /** The record of a run that was begun earlier; undefined where it was not written down. */
  static async find(runs: Runs, id: string): Promise<RunRecord | undefined> {
    const run = await runs.read(id);
    return run && new RunRecord(runs, run);
  }

  get phase(): RunPhase {
    return this.#run.phase;
  }

  async #to(phase: RunPhase, patch?: RunPatch): Promise<void> {
    this.#run = await this.#runs.transition(this.#run.id, this.#run.phase, phase, patch);
  }

  async planning(): Promise<void> {
    if (this.phase === "queued") await this.#to("preparing");
    await this.#to("planning");
  }

  async planned(
    plan: Plan | undefined,
    diagnostics: readonly Diagnostic[],
    keep: (planDigest: string) => Promise<PlanDocuments | undefined>,
  ): Promise<void> {
    if (plan === undefined) {
      const first = diagnostics.find(({ severity }) => severity === "error");
      await this.#to("failed", { reason: first === undefined ? "" : textOf(first) });
    } else if (hasChanges(plan)) {
      const facts = planFacts(plan);
      const planDocuments = await keep(facts.planDigest);
      await this.#to("planned", { ...facts, ...(planDocuments && { planDocuments }) });
    } else await this.#to("no_changes", { revision: plan.revision });
  }

  /** The approved plan is carried out from now on; or again, by another worker, after an interruption. */
  async applying(epoch: bigint): Promise<void> {
    if (this.phase === "planned" || this.phase === "awaiting_approval") await this.#to("approved");
    await this.#to("applying", { epoch });
  }

  /** While the state is still open, the run has not ended: the next run recovers its operations. */
  async applied({ status, head, diagnostics }: ApplyResult): Promise<void> {
    if (head.run !== "") return;
    const first = diagnostics.find(({ severity }) => severity === "error");
    const reason = status === "applied" || first === undefined ? {} : { reason: textOf(first) };
    await this.#to(status, { revision: head.revision, ...reason });
  }

  /**
   * The engine gave up. What was begun and not ended, by a worker that lost the stack or the store, is ended by the recovery.
   *
   * @param head where the state stands, if that can still be known
   */
  async rejected(error: unknown, { canceled, head }: Rejection): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.phase === "planning") {
      await this.#to(canceled ? "canceled" : "failed", { reason });
    } else if (
      this.phase === "approved" ||
      this.phase === "planned" ||
      this.phase === "awaiting_approval"
    ) {
      const stale = isEngineError(
        error,
        "ENGINE_PLAN_STALE",
        "ENGINE_CONFIG_CHANGED",
        "ENGINE_PROVIDER_CHANGED",
      );
      if (this.phase !== "approved") await this.#to("approved");
      await this.#to(stale ? "superseded" : "failed", { reason });
    } else if (this.phase === "applying" && head?.run === "") {
      await this.#to(canceled ? "canceled" : "failed", { reason, revision: head.revision });
    }
  }

  /** Another worker has recovered its operations. A server finds that out by itself, and ends its run. */
  async recovered(head: StackHead, unresolved: number): Promise<void> {
    if (this.phase !== "applying" || this.#run.ofServer === true) return;
    const rest = unresolved === 0 ? "" : `; ${unresolved} of its calls have an unknown result`;
    await this.#to("partially_applied", {
      revision: head.revision,
      reason: `it was interrupted${rest}`,
    });
  }
}

interface Rejection {
  readonly canceled: boolean;
  readonly head: StackHead | undefined;
}

/** What a run says of its plan. */
export function planFacts(plan: Plan): Required<Pick<Run, "planDigest" | "baseRevision">> {
  return { planDigest: planDigest(plan), baseRevision: plan.revision };
}

function textOf({ address, summary, detail }: Diagnostic): string {
  const text = detail === "" ? summary : `${summary}: ${detail}`;
  return address === undefined || text.includes(address) ? text : `${address}: ${text}`;
}
