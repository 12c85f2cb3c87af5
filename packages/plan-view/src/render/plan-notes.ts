import type { DriftView, PlanView } from "../model/plan-view.ts";
import { hasOutputChange } from "./change-head.ts";
import { visibleText } from "./value-text.ts";

/** What is said of a plan of which targets were selected. */
const PARTIAL = "This plan covers the targeted part of the configuration only.";

/** Texts of parts that are left to a later stage, and of moves, at most; more are counted. */
const MAX_LISTED = 50;

/** Said of a plan without anything to show. */
export function noChangesText({ deferred }: PlanView): string {
  return deferred === undefined
    ? "No changes. The infrastructure is as the configuration says."
    : "No changes in this stage.";
}

/** That a plan is one stage, and what is left to a later one; undefined for a plan that leaves nothing. */
export function stageTexts({ deferred }: PlanView): Listed | undefined {
  if (deferred === undefined) return undefined;
  const left = deferred.length === 1 ? "one part is" : `${deferred.length} parts are`;
  return {
    head: `This plan is a stage: ${left} left to the next one.`,
    ...listed(deferred, ({ address, because }) => `${address}: ${because}`),
  };
}

/** Records that get another address although the plan leaves out their objects. */
export function moveTexts({ moves = [] }: PlanView): Listed | undefined {
  if (moves.length === 0) return undefined;
  return {
    head: "Moved in the state, and otherwise left out of this plan:",
    ...listed(moves, ({ from, to }) => `${from} to ${to}`),
  };
}

/** A sentence with a list, each item on one line. */
export interface Listed {
  readonly head: string;
  readonly items: readonly string[];
  /** How many more there are. */
  readonly more: number;
}

function listed<T>(all: readonly T[], text: (one: T) => string): Omit<Listed, "head"> {
  const items = all.slice(0, MAX_LISTED).map((one) => visibleText(text(one)));
  return { items, more: all.length - items.length };
}

/** Said of a plan of a part that was selected. */
export function partialText({ partial, deferred }: PlanView): string | undefined {
  return partial && deferred === undefined ? PARTIAL : undefined;
}

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
      visibleText(`${address}: ${oneLine(message)}`),
    );
}

/** A text without its line ends and the white space around them. */
function oneLine(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}

/** Whether a plan has nothing to decide about. */
export function isEmpty(view: PlanView): boolean {
  return (
    view.groups.length === 0 &&
    !view.outputs.some(hasOutputChange) &&
    shownDrift(view).length === 0 &&
    view.moves === undefined
  );
}
