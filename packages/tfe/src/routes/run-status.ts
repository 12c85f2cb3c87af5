import type { TfeLogName, TfeRun, TfeRunPhase } from "../port/run-port.ts";

const STATUS: Readonly<Record<TfeRunPhase, string>> = {
  queued: "pending",
  preparing: "plan_queued",
  planning: "planning",
  planned: "planned",
  policy_failed: "policy_override",
  awaiting_approval: "planned",
  approved: "confirmed",
  applying: "applying",
  applied: "applied",
  no_changes: "planned_and_finished",
  partially_applied: "errored",
  failed: "errored",
  discarded: "discarded",
  canceled: "canceled",
  superseded: "discarded",
  rolled_back: "errored",
  plan_finished: "planned_and_finished",
};

const UNPLANNED: ReadonlySet<TfeRunPhase> = new Set(["queued", "preparing"]);
const CANCELABLE: ReadonlySet<TfeRunPhase> = new Set([
  "queued",
  "preparing",
  "planning",
  "planned",
  "approved",
  "applying",
]);

const UNAPPLIED: ReadonlySet<TfeRunPhase> = new Set([
  ...UNPLANNED,
  "planning",
  "planned",
  "awaiting_approval",
]);
/** Of runs whose plan was approved; all others have failed. */
const APPLIED: Readonly<Partial<Record<TfeRunPhase, string>>> = {
  approved: "queued",
  applying: "running",
  applied: "finished",
  canceled: "canceled",
  discarded: "unreachable",
  superseded: "unreachable",
};

/** The status of a run in the words of commands. They end with 1 for `errored` and `canceled` alone. */
export function runStatus({ phase, savedPlan, autoApply }: TfeRun): string {
  if (phase === "awaiting_approval" && savedPlan) return "planned_and_saved";
  // A run that should have been applied without a question has failed.
  if (phase === "superseded" && autoApply) return "errored";
  return STATUS[phase];
}

/** What can be done with a run; commands read all of these without a check. */
export function runActions({ phase, isCanceling }: TfeRun): Readonly<Record<string, boolean>> {
  const isWaiting = phase === "awaiting_approval";
  return {
    "is-cancelable": CANCELABLE.has(phase) && !isCanceling,
    "is-confirmable": isWaiting,
    "is-discardable": isWaiting || phase === "policy_failed",
    "is-force-cancelable": isCanceling && CANCELABLE.has(phase),
  };
}

/** The status of the plan of a run. Only the last three end its log. */
export function planStatus({ phase, hasPlan, wasApproved }: TfeRun): string {
  if (UNPLANNED.has(phase)) return "pending";
  if (phase === "planning") return "running";
  if (hasPlan || wasApproved) return "finished";
  if (phase === "failed") return "errored";
  return phase === "canceled" ? "canceled" : "finished";
}

/**
 * A status as a command is given it that follows the log: it reads no further once it is over, so that it is not while the end of the log is
 * still to be read.
 */
export function followedStatus(status: string, { openLogs }: TfeRun, log: TfeLogName): string {
  return status !== "pending" && openLogs?.includes(log) === true ? "running" : status;
}

/** The status of the apply of a run; `unreachable` where there will be none. */
export function applyStatus({ phase, wasApproved }: TfeRun): string {
  if (UNAPPLIED.has(phase)) return "pending";
  if (!wasApproved) return "unreachable";
  return APPLIED[phase] ?? "errored";
}
