import { Mark, type MarkShape } from "./mark.tsx";

/** How a phase looks: a shape and a word beside the color. */
const PHASES: Readonly<Record<string, readonly [tone: string, shape: MarkShape]>> = {
  queued: ["quiet", "ring"],
  preparing: ["active", "half"],
  planning: ["active", "half"],
  planned: ["active", "half"],
  awaiting_approval: ["attention", "diamond"],
  approved: ["active", "half"],
  applying: ["active", "half"],
  policy_failed: ["bad", "cross"],
  plan_finished: ["quiet", "check"],
  applied: ["good", "check"],
  no_changes: ["good", "check"],
  partially_applied: ["bad", "triangle"],
  failed: ["bad", "cross"],
  discarded: ["quiet", "dash"],
  canceled: ["quiet", "dash"],
  superseded: ["quiet", "dash"],
  rolled_back: ["bad", "triangle"],
};

const ACTIVE = new Set(["queued", "preparing", "planning", "planned", "approved", "applying"]);

/** Whether a run in this phase is at work or waits for its turn. */
export function isActivePhase(phase: string): boolean {
  return ACTIVE.has(phase);
}

/** Whether a user has to do something about a run that is in this phase. */
export function needsAttention(phase: string): boolean {
  return ["awaiting_approval", "failed", "partially_applied", "policy_failed"].includes(phase);
}

function phaseText(phase: string): string {
  return phase.replaceAll("_", " ");
}

export function PhaseBadge({ phase }: { readonly phase: string }) {
  const [tone, shape] = PHASES[phase] ?? ["quiet", "ring"];
  return (
    <span className={`badge ${tone}`}>
      <Mark shape={shape} />
      {phaseText(phase)}
    </span>
  );
}
