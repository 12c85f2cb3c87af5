import type {
  ApplyResult,
  Plan,
  RunEvent,
  RunEventHandler,
  StackOutput,
  StepAction,
} from "@stackwright/core";
import { hasEffect } from "@stackwright/core";
import type { Diagnostic } from "@stackwright/lang";
import type { SchemaOf } from "./plan-text.ts";

/** Shows the progress of a command, as text or as JSON lines. */
export interface RunRenderer {
  /** Given every event of the engine while a plan is made. */
  readonly onPlanning: RunEventHandler;
  /** Ends what is shown of the planning. */
  planned(plan: Plan, schemaOf: SchemaOf): void;
  diagnostics(diagnostics: readonly Diagnostic[]): void;
  /** Given every event of the engine while a plan is applied, between `begin` and `applied`. */
  readonly onApplying: RunEventHandler;
  begin(plan: Plan): void;
  /** The first Ctrl-C was pressed. */
  stopping(): void;
  applied(result: ApplyResult): void;
  /** An apply ends without a change; these are the outputs as they stay. */
  unchanged?(outputs: ReadonlyMap<string, StackOutput>): void;
  note(text: string): void;
}

/** Number of steps of an apply that are shown. */
export function renderedSteps({ changes }: Plan): number {
  return changes
    .filter(hasEffect)
    .reduce((sum, { action }) => sum + (action === "replace" ? 2 : 1), 0);
}

/** Whether a step is shown: what is only recorded is not. */
export function isShownStep(event: RunEvent): event is Extract<
  RunEvent,
  { type: "start" | "end" | "progress" }
> & {
  readonly action: Exclude<StepAction, "record">;
} {
  return (
    (event.type === "start" || event.type === "end" || event.type === "progress") &&
    event.action !== "record"
  );
}

/** `a.b`, or `a.b (deposed object 1f2e3d4c)`. */
export function subjectOf(event: { readonly address: string; readonly deposed: string }): string {
  return event.deposed === ""
    ? event.address
    : `${event.address} (deposed object ${event.deposed})`;
}
