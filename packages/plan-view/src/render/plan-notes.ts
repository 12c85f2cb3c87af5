import type { DriftView, PlanView } from "../model/plan-view.ts";
import { hasOutputChange } from "./change-head.ts";
import { visibleText } from "./value-text.ts";

/** What is said of a plan of which targets were selected. */
export const PARTIAL = "This plan covers the targeted part of the configuration only.";

/** Said of a plan without anything to show. */
export const NO_CHANGES = "The infrastructure is as the configuration says.";

/** Objects that were changed elsewhere, where that matters: to a planned change, or because it is all that is recorded. */
export function shownDrift({ drift, mode }: PlanView): readonly DriftView[] {
  return mode === "refresh-only" ? drift : drift.filter(({ relevant }) => relevant);
}

/** What happened to an object elsewhere, on one line. */
export function driftText({ address, deposed, body }: DriftView): string {
  const subject = deposed === undefined ? address : `${address} (deposed object ${deposed})`;
  return visibleText(`${subject} ${body.kind === "remove" ? "is gone" : "has changed"}`);
}

/** The conditions that do not hold, each on one line. */
export function warningTexts({ checks }: PlanView): string[] {
  return checks
    .filter(({ status }) => status !== "unknown")
    .map(({ address, message = "a condition does not hold" }) =>
      visibleText(`${address}: ${message.trim().replaceAll(/\s*\n\s*/g, " ")}`),
    );
}

/** Whether a plan has nothing to decide about. */
export function isEmpty(view: PlanView): boolean {
  return (
    view.groups.length === 0 && !view.outputs.some(hasOutputChange) && shownDrift(view).length === 0
  );
}
