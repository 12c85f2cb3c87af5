import type { Diagnostic } from "@stackwright/lang";
import type { RecoveredOperation } from "../../apply/recover.ts";
import type { RunPhase } from "../../state/runs.ts";
import type { StackSnapshot } from "../../state/stack-state.ts";

/** What a process found at its end. */
export interface KillResult {
  readonly status: string;
  readonly diagnostics: readonly string[];
  readonly recovered: number;
  readonly run: string;
  /** The problem of each unresolved operation. */
  readonly unresolved: readonly string[];
  /** Real ids of all recorded objects. */
  readonly recorded: readonly string[];
  /** Phases of all runs, the oldest first. */
  readonly phases: readonly RunPhase[];
}

export function killResult(
  status: string,
  { objects, head }: Pick<StackSnapshot, "objects" | "head">,
  {
    diagnostics,
    recovered,
  }: {
    readonly diagnostics: readonly Diagnostic[];
    readonly recovered: readonly RecoveredOperation[];
  },
): Omit<KillResult, "phases"> {
  return {
    status,
    diagnostics: diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`),
    recovered: recovered.length,
    run: head.run,
    unresolved: [...objects.values()].flatMap(({ phase, operation }) =>
      phase === "unresolved" ? (operation?.problem ?? "") : [],
    ),
    recorded: recordedIds({ objects }),
  };
}

/** Ids of recorded objects, as their values have them. */
export function recordedIds({ objects }: Pick<StackSnapshot, "objects">): readonly string[] {
  return [...objects.values()].flatMap(({ value }) =>
    value === undefined ? [] : (JSON.parse(value.json) as { readonly id: string }).id,
  );
}
