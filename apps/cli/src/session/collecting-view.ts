import type { Plan } from "@stackwright/core";
import type { Diagnostic } from "@stackwright/lang";
import type { RunRenderer } from "../render/run-renderer.ts";

/** A view that shows nothing and keeps what was reported, for commands that report on many plans. */
export class CollectingView implements RunRenderer {
  readonly found: Diagnostic[] = [];
  readonly onPlanning = (): void => undefined;
  readonly onApplying = (): void => undefined;

  planned(_plan: Plan): void {
    // The caller has the plan.
  }

  diagnostics(diagnostics: readonly Diagnostic[]): void {
    this.found.push(...diagnostics);
  }

  begin(): void {
    // Nothing is applied.
  }

  stopping(): void {
    // The caller ends.
  }

  applied(): void {
    // Nothing is applied.
  }

  note(): void {
    // The caller reports.
  }
}
