import { Mark, type Value } from "@stackwright/cty";
import type { PairingOptions } from "../diff/diff-values.ts";
import type { ShowOptions } from "../diff/show-diff.ts";
import type { Diff } from "../model/diff.ts";
import {
  type ChangeView,
  type CheckView,
  type DriftView,
  type OutputView,
  PLAN_VIEW_FORMAT,
  type PlanCounts,
  type PlanView,
} from "../model/plan-view.ts";
import { CauseGraph } from "./causes.ts";
import { groupChanges } from "./fold.ts";
import type { GivenChange, GivenDrift, GivenOutput, GivenPlan } from "./given-plan.ts";
import { likenessOf } from "./likeness.ts";
import { pathText } from "./path-text.ts";
import { reasonOf } from "./reasons.ts";
import { type RiskOptions, riskOf } from "./risk.ts";
import { sides } from "./sides.ts";

/** How a view is made. */
export interface PlanViewOptions extends ShowOptions {
  /** Digest of the stored plan. */
  readonly planDigest?: string;
  /** Rules of the project for pairing the elements of lists. */
  readonly pairing?: PairingOptions["rules"];
  readonly risk?: RiskOptions;
}

/**
 * A plan as a document. Nothing that is marked sensitive is in it; what merely repeats a secret has to be marked before (core:
 * `concealPlan`). The work is bounded by the size of the plan; it reads no clock and no environment.
 */
export function planView(plan: GivenPlan, options: PlanViewOptions = {}): PlanView {
  const { deferred = [], moves = [] } = plan;
  const graph = new CauseGraph(plan.changes);
  const changes = plan.changes.map((change) => changeView(change, graph, options));
  return {
    format: PLAN_VIEW_FORMAT,
    planDigest: options.planDigest ?? "",
    stack: plan.stack,
    revision: plan.revision.toString(),
    mode: plan.mode,
    partial: plan.partial,
    ...(deferred.length > 0 && {
      deferred: deferred.map(({ address, because }) => ({ address, because })),
    }),
    createdAtMs: plan.createdAtMs,
    summary: countsOf(plan),
    rootCauses: graph.rootCauses(),
    groups: groupChanges(changes),
    changes,
    ...(moves.length > 0 && { moves: moves.map(({ from, to }) => ({ from, to })) }),
    outputs: plan.outputs.map((output) => outputView(output, options)),
    drift: plan.drift.map((drift) => driftView(drift, options)),
    checks: plan.checks.flatMap(({ address, kind, status, message }): CheckView[] =>
      status === "pass"
        ? []
        : [{ address, kind, status, ...(message !== undefined && { message }) }],
    ),
  };
}

function changeView(
  change: GivenChange,
  graph: CauseGraph,
  { pairing, risk, ...show }: PlanViewOptions,
): ChangeView {
  const { deposed, previousAddress, importing, order, provisioners = [] } = change;
  const replacePaths = change.replacePaths.map(pathText);
  const reason = reasonOf(change, replacePaths);
  const body = bodyOf(change, { type: change.type, ...(pairing && { rules: pairing }) }, show);
  return {
    address: change.address,
    ...(deposed !== "" && { deposed }),
    ...(previousAddress !== undefined && { previousAddress }),
    mode: change.mode,
    type: change.type,
    name: change.name,
    module: change.module,
    action: change.action,
    ...(order !== undefined && { order }),
    ...(importing !== undefined && { importing: { id: importing.id } }),
    ...(reason !== undefined && { reason }),
    causes: graph.causesOf(change),
    ...(provisioners.length > 0 && {
      provisioners: provisioners.map(({ when, type, onFailure, summary }) => ({
        when,
        type,
        onFailure,
        ...(summary !== undefined && { summary }),
      })),
    }),
    replacePaths,
    body,
    risk: riskOf(change, risk),
    likeness: likenessOf(change, body, reason),
  };
}

function bodyOf(
  { action, before, after }: GivenChange,
  diff: PairingOptions,
  show: ShowOptions,
): Diff {
  switch (action) {
    case "create":
    case "read":
      return sides(undefined, after, diff, show);
    case "delete":
      return sides(before, undefined, diff, show);
    case "forget":
    case "no-op":
      return sides(before ?? after, before ?? after, diff, show);
    case "update":
    case "replace":
    default:
      return sides(before, after, diff, show);
  }
}

function outputView(
  { name, before, after, sensitive }: GivenOutput,
  { pairing, ...show }: PlanViewOptions,
): OutputView {
  const hide = (value: Value | undefined): Value | undefined =>
    sensitive ? value?.mark(Mark.sensitive) : value;
  const rules = pairing === undefined ? {} : { rules: pairing };
  return { name, body: sides(hide(before), hide(after), rules, show) };
}

function driftView(
  { address, deposed, type, relevant, before, after }: GivenDrift,
  { pairing, ...show }: PlanViewOptions,
): DriftView {
  return {
    address,
    ...(deposed !== "" && { deposed }),
    type,
    relevant,
    body: sides(before, after, { type, ...(pairing && { rules: pairing }) }, show),
  };
}

function countsOf({ changes, moves = [] }: GivenPlan): PlanCounts {
  const count = (test: (change: GivenChange) => boolean): number => changes.filter(test).length;
  const of = (action: GivenChange["action"]): number => count((change) => change.action === action);
  return {
    create: of("create"),
    update: of("update"),
    replace: of("replace"),
    delete: of("delete"),
    forget: of("forget"),
    import: count(({ importing }) => importing !== undefined),
    move: count(({ previousAddress }) => previousAddress !== undefined) + moves.length,
    read: of("read"),
  };
}
