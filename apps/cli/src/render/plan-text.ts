import type { StackInput } from "@stackwright/core";
import {
  concealPlan,
  type DeferredPart,
  type Drift,
  hasChanges,
  isChange,
  type Plan,
  type PlanSummary,
  type ResourceChange,
  revealPlan,
  type SecretDisplay,
  summarizePlan,
} from "@stackwright/core";
import { Value } from "@stackwright/cty";
import type { BlockSchema } from "@stackwright/mux/router";
import { printable } from "../terminal/printable.ts";
import type { Style } from "../terminal/style.ts";
import {
  changeText,
  legend,
  outputLines,
  type ShownAction,
  type ShownChange,
} from "./change-text.ts";
import { pathText } from "./path-text.ts";
import { plannedProvisionerLines } from "./provisioner-text.ts";

/** Gives the schema of what a change is about, where it is known. */
export type SchemaOf = (
  change: Pick<ResourceChange, "mode" | "type" | "provider">,
) => BlockSchema | undefined;

/** How a plan is written. */
interface PlanDisplay {
  readonly style: Style;
  readonly schemaOf: SchemaOf;
  /** Unchanged attributes as well. */
  readonly verbose?: boolean;
  /** @default "hidden" */
  readonly secrets?: SecretDisplay;
}

/** A plan as text for users: drift, the planned changes with their reasons, outputs, and the numbers of changes. */
export function planText(given: Plan, display: PlanDisplay): string {
  return `${[...planParts(given, display)].join("\n\n")}\n`;
}

/** The paragraphs of {@link planText}, one after the other: a plan with long texts is never one string. */
export function* planParts(given: Plan, display: PlanDisplay): Generator<string, void> {
  const { style, secrets = "hidden" } = display;
  const plan = secrets === "shown" ? revealPlan(given) : concealPlan(given);
  const drift =
    plan.mode === "refresh-only"
      ? plan.drift
      : plan.drift.filter(({ relevant }) => relevant).map(relevantPart);
  if (drift.length > 0) yield driftText(drift, display);
  const outputs = outputLines(
    plan.outputs.map(({ name, before, after }) => ({ name, before, after })),
    style,
  );
  if (!hasChanges(plan)) {
    yield nothingText(plan, style);
    if (plan.deferred !== undefined) yield deferredText(plan.deferred);
    return;
  }
  const changes = plan.changes.filter(isChange).filter(isShown);
  if (changes.length > 0 && plan.mode !== "refresh-only") {
    const shown = changes.map((change) => shownChange(change, display.schemaOf));
    const signs = legend(new Set(shown.map(({ action }) => action)), style);
    if (signs.length > 0) {
      yield `The signs below mean:\n${signs.join("\n")}`;
    }
    // Of an import all attributes are shown: the imported object was not in the state before.
    const whole = ({ importing }: ShownChange): boolean =>
      display.verbose === true || importing !== undefined;
    for (const change of shown)
      yield changeText(change, { style, secrets, verbose: whole(change) });
    yield summaryText(summarizePlan(plan), style);
  }
  const { moves = [] } = plan;
  if (moves.length > 0) {
    const lines = moves.map(({ from, to }) => `  ${from} to ${to}`);
    yield `Moved in the state, and otherwise left out of this plan:\n${lines.join("\n")}`;
  }
  if (outputs.length > 0) yield `Changes to outputs:\n${outputs.join("\n")}`;
  const closing = closingText(plan, changes.length + moves.length > 0);
  if (closing !== undefined) yield `${style.paint("strong", "Plan:")} ${closing}`;
  if (plan.inputs.length > 0) {
    yield `Made with outputs of other stacks:\n${inputLines(plan.inputs).join("\n")}`;
  }
  if (plan.deferred !== undefined) yield deferredText(plan.deferred);
  else if (plan.partial) {
    yield style.paint(
      "warning",
      "This plan is partial: it covers only the targeted part of the configuration.",
    );
  }
}

/** Parts of a configuration that are left to a later stage, the first ones. */
const MAX_DEFERRED = 50;

function deferredText(deferred: readonly DeferredPart[]): string {
  const lines = deferred
    .slice(0, MAX_DEFERRED)
    .map(({ address, because }) => `  ${address}: ${because}`);
  const more = deferred.length - lines.length;
  const left = deferred.length === 1 ? "one part is" : `${deferred.length} parts are`;
  const rest = more > 0 ? [`  and ${more} more`] : [];
  return [`This plan is a stage: ${left} left to the next one.`, ...lines, ...rest]
    .map(printable)
    .join("\n");
}

/** What is to be done, where that is nothing that is counted. */
function closingText({ mode }: Plan, counted: boolean): string | undefined {
  if (mode === "refresh-only") return "what was found is recorded, and no object changes.";
  return counted ? undefined : "outputs change, and no object does.";
}

/** `  network (revision 4): subnet, vpc`, for each stack. */
export function inputLines(inputs: readonly StackInput[]): readonly string[] {
  return inputs.map(({ name, revision, outputs, planned }) => {
    const names = outputs.length === 0 ? "no outputs" : outputs.join(", ");
    const which = planned === undefined ? `revision ${revision}` : "as planned";
    return `  ${name} (${which}): ${names}`;
  });
}

/** Objects that were only refreshed are recorded, but need no decision. */
function isShown({ action, previousAddress, importing }: ResourceChange): boolean {
  return action !== "no-op" || previousAddress !== undefined || importing !== undefined;
}

function nothingText({ mode, partial, deferred }: Plan, style: Style): string {
  if (deferred !== undefined) return `${style.paint("strong", "No changes")} in this stage.`;
  if (partial) {
    return `${style.paint("strong", "No changes")} in the targeted part of the configuration.`;
  }
  if (mode === "destroy") {
    return `${style.paint("strong", "No changes.")} There is nothing to destroy.`;
  }
  if (mode === "refresh-only") {
    return `${style.paint("strong", "No changes.")} The infrastructure is as it is recorded.`;
  }
  return `${style.paint("strong", "No changes.")} The infrastructure is as the configuration says.`;
}

/** A drift of the attributes alone that have to do with a planned change. */
function relevantPart(drift: Drift): Drift {
  const { before, after, attributes } = drift;
  if (after === undefined || attributes === undefined || before.isNull) return drift;
  const was = new Map(before.unmark()[0].entries());
  const shown = new Set(attributes);
  const members = [...after.unmark()[0].entries()].map(
    ([name, value]) => [name, shown.has(name) ? value : (was.get(name) ?? value)] as const,
  );
  return { ...drift, after: Value.object(Object.fromEntries(members)) };
}

function driftText(drift: readonly Drift[], display: PlanDisplay): string {
  const texts = drift.map((entry) => {
    const name = /\.([^.[]+)(?:\[.*)?$/.exec(entry.address)?.[1] ?? entry.address;
    const change: ShownChange = {
      address: entry.address,
      ...(entry.deposed !== "" && { deposed: entry.deposed }),
      mode: "managed",
      type: entry.type,
      name,
      action: entry.after === undefined ? "delete" : "update",
      reasons: [],
      before: entry.before,
      after: entry.after,
      schema: display.schemaOf({ mode: "managed", type: entry.type, provider: entry.provider }),
      replacePaths: [],
    };
    const text = changeText(change, display);
    return text.replace(
      /will be (?:destroyed|updated in place)/,
      entry.after === undefined ? "is gone" : "has changed",
    );
  });
  return [
    display.style.paint("strong", "Objects were changed outside of Stackwright:"),
    ...texts,
  ].join("\n\n");
}

const REASONS: Readonly<Record<NonNullable<ResourceChange["reason"]>, string>> = {
  "replace-because-tainted": "the object is tainted: an earlier step on it did not succeed",
  "replace-by-request": "the replacement was asked for",
  "replace-by-triggers": "something in replace_triggered_by changes",
  "replace-because-cannot-update": "",
  "delete-because-no-resource-config": "it is not in the configuration",
  "delete-because-wrong-repetition":
    "its address does not go with count or for_each of the configuration",
  "delete-because-count-index": "its index is beyond count",
  "delete-because-each-key": "its key is not in for_each",
  "delete-because-no-module": "its module is not in the configuration",
  "delete-because-no-move-target": "it was moved to where nothing is configured",
  "read-because-config-unknown": "its arguments contain values that are known after apply",
  "read-because-dependency-pending": "it depends on something that changes",
  "read-because-check-nested": "it belongs to a check that is made after apply",
};

/** A planned change with the sentences that explain it. */
function shownChange(change: ResourceChange, schemaOf: SchemaOf): ShownChange {
  const reasons = [change.reason === undefined ? "" : REASONS[change.reason]];
  for (const { path, because, replaces } of change.causes) {
    if (because.length === 0 || !(replaces || change.action === "update")) continue;
    const verb = replaces ? "forces replacement" : "changes";
    reasons.push(`${pathText(path)} ${verb} because of ${listText(because)}`);
  }
  if (change.createBeforeDestroyFor !== undefined && change.action === "replace") {
    reasons.push(`created before it is destroyed because ${change.createBeforeDestroyFor} is`);
  }
  reasons.push(...plannedProvisionerLines(change.provisioners ?? []));
  return {
    address: change.address,
    ...(change.previousAddress !== undefined && { previousAddress: change.previousAddress }),
    ...(change.deposed !== "" && { deposed: change.deposed }),
    mode: change.mode,
    type: change.type,
    name: change.name,
    action: shownAction(change),
    reasons: reasons.filter((reason) => reason !== ""),
    ...(change.importing !== undefined && { importing: change.importing.id }),
    before: change.before,
    after: change.after,
    schema: schemaOf(change),
    replacePaths: change.replacePaths,
  };
}

function shownAction({ action, order }: ResourceChange): ShownAction {
  if (action !== "replace") return action;
  return order === "create-first" ? "create-delete" : "delete-create";
}

function listText(items: readonly string[]): string {
  const shown = items.slice(0, 3).join(", ");
  return items.length > 3 ? `${shown} and ${items.length - 3} more` : shown;
}

/** `Plan: 1 to add, 0 to change, 2 to destroy.` */
function summaryText(summary: PlanSummary, style: Style): string {
  return `${style.paint("strong", "Plan:")} ${countsText(summary)}.`;
}

function countsText(summary: PlanSummary): string {
  const rare = (count: number, what: string): string[] =>
    count > 0 ? [`${count} to ${what}`] : [];
  return [
    ...rare(summary.import, "import"),
    `${summary.create + summary.replace} to add`,
    `${summary.update} to change`,
    `${summary.delete + summary.replace} to destroy`,
    ...rare(summary.move, "move"),
    ...rare(summary.forget, "forget"),
  ].join(", ");
}
