import { Run_Phase as P } from "@stackwright/proto/stackwright";

/**
 * From each phase to which, as the documentation of runs says: written down a second time, so that a wrong line of the engine's own
 * table is found.
 */
export const NEXT_PHASES: ReadonlyMap<P, readonly P[]> = new Map([
  [P.PHASE_UNSPECIFIED, [P.PHASE_QUEUED]],
  [P.PHASE_QUEUED, [P.PHASE_PREPARING, P.PHASE_CANCELED, P.PHASE_SUPERSEDED]],
  [P.PHASE_PREPARING, [P.PHASE_PLANNING, P.PHASE_QUEUED, P.PHASE_FAILED, P.PHASE_CANCELED]],
  [
    P.PHASE_PLANNING,
    [P.PHASE_PLANNED, P.PHASE_NO_CHANGES, P.PHASE_QUEUED, P.PHASE_FAILED, P.PHASE_CANCELED],
  ],
  [
    P.PHASE_PLANNED,
    [
      P.PHASE_AWAITING_APPROVAL,
      P.PHASE_APPROVED,
      P.PHASE_PLAN_FINISHED,
      P.PHASE_POLICY_FAILED,
      P.PHASE_CANCELED,
    ],
  ],
  [
    P.PHASE_POLICY_FAILED,
    [P.PHASE_AWAITING_APPROVAL, P.PHASE_DISCARDED, P.PHASE_CANCELED, P.PHASE_SUPERSEDED],
  ],
  [
    P.PHASE_AWAITING_APPROVAL,
    [P.PHASE_APPROVED, P.PHASE_DISCARDED, P.PHASE_CANCELED, P.PHASE_SUPERSEDED],
  ],
  [
    P.PHASE_APPROVED,
    [P.PHASE_APPLYING, P.PHASE_FAILED, P.PHASE_DISCARDED, P.PHASE_CANCELED, P.PHASE_SUPERSEDED],
  ],
  [
    P.PHASE_APPLYING,
    [
      // By another worker, where the one before began the apply and died before it did anything.
      P.PHASE_APPLYING,
      P.PHASE_APPLIED,
      P.PHASE_PARTIALLY_APPLIED,
      P.PHASE_FAILED,
      P.PHASE_CANCELED,
    ],
  ],
]);

export const ENDS: ReadonlySet<P> = new Set([
  P.PHASE_PLAN_FINISHED,
  P.PHASE_APPLIED,
  P.PHASE_NO_CHANGES,
  P.PHASE_PARTIALLY_APPLIED,
  P.PHASE_FAILED,
  P.PHASE_DISCARDED,
  P.PHASE_CANCELED,
  P.PHASE_SUPERSEDED,
]);

const NAMES = new Map(Object.entries(P).map(([name, phase]) => [phase, name] as const));

/** The name of a phase in messages and events. */
export function nameOf(phase: P): string {
  return (NAMES.get(phase) ?? String(phase)).replace("PHASE_", "").toLowerCase();
}
