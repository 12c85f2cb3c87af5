import { type Path, Value } from "@stackwright/cty";
import { type EvaluatedBody, evaluateBody, hasErrors, providerDiagnostic } from "@stackwright/lang";
import {
  type PlanReply,
  type ProviderDiagnostic,
  proposeState,
  type ResourceSchema,
} from "@stackwright/mux/router";
import {
  assertPlanValid,
  assertRefines,
  isRefused,
  plannedAction,
  violationsToDiagnostics,
} from "@stackwright/tfplugin/checks";
import type { ResourceChange } from "../plan/change.ts";
import { applyIgnoreChanges, ignoredMarks } from "../planner/ignore-changes.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import { blockType } from "../walk/block-type.ts";
import { extractMarks, withoutMarks } from "../walk/object-marks.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import type { ApplyRun } from "./apply-run.ts";
import { decideConditions } from "./deferred-checks.ts";

/** A plan with everything known, which does what was approved. */
export interface FinalPlan {
  readonly body: EvaluatedBody;
  readonly prior: Value;
  readonly config: Value;
  readonly planned: Value;
  readonly reply: PlanReply;
  readonly sensitive: readonly Path[];
  readonly schema: ResourceSchema;
  /** An update that turned out to have nothing left to do. */
  readonly nothingToDo: boolean;
  report(problems: readonly ProviderDiagnostic[]): boolean;
}

/**
 * Evaluates an instance with what is known now and has its provider plan it again. Undefined, reported, where that fails
 * or is not a refinement of what was approved. Nothing has been done then.
 */
export async function computeFinalPlan(
  run: ApplyRun,
  change: ResourceChange,
  ready: ReadyProvider,
  slot: InstanceSlot,
  operationId: string,
): Promise<FinalPlan | undefined> {
  const config = run.configOf(change);
  const schema = ready.use.typeSchema(change.mode, change.type);
  const bound = config && run.bodyOf(config, ready);
  if (config === undefined || schema === undefined || bound === undefined) {
    run.fail(
      "Resource not found",
      `${change.address} is not in the configuration.`,
      change.address,
    );
    return undefined;
  }
  const scope = slot.resource.module.scope.forInstance(slot.context);
  if (await run.isHeldBack(change, slot)) return undefined;
  if (!(await decideConditions(run, slot, "precondition"))) return undefined;
  const body = await run.evaluate(change, () => evaluateBody(bound, scope));
  if (body === undefined) return undefined;
  run.report(body.diagnostics.map((one) => ({ ...one, address: one.address ?? change.address })));
  if (hasErrors(body.diagnostics)) return undefined;
  const report = (problems: readonly ProviderDiagnostic[]): boolean => {
    const found = problems.map((problem) => providerDiagnostic(body, problem, change.address));
    run.report(found);
    return !hasErrors(found);
  };
  ready.use.secrets.addValue(body.value);
  const { plain, sensitive } = extractMarks(body.value);
  const creates = change.action !== "update";
  const prior =
    creates || change.before === undefined
      ? Value.null(blockType(schema.block))
      : withoutMarks(change.before);
  const configured = applyIgnoreChanges(plain, prior, config.lifecycle.ignoreChanges);
  const { words } = change;
  const reply = await ready.use.provider.plan(
    {
      type: change.type,
      prior,
      config: configured,
      proposed: proposeState(schema.block, prior, configured),
      priorPrivate: creates ? new Uint8Array() : words.priorPrivate,
      ...(!creates && words.priorIdentity !== undefined && { priorIdentity: words.priorIdentity }),
      deferralAllowed: false,
      operation: { operationId, epoch: run.given.writer.epoch },
    },
    { ...run.context, address: change.address },
  );
  if (!report(reply.diagnostics) || reply.planned === undefined) return undefined;
  const { legacyTypeSystem, planned } = reply;
  const valid = assertPlanValid({
    block: schema.block,
    prior,
    config: configured,
    planned,
    requiresReplace: reply.requiresReplace,
    legacyTypeSystem,
  });
  const finalAction = plannedAction(prior, planned, valid.requiresReplace);
  const approved = change.after === undefined ? planned : withoutMarks(change.after);
  const violations = [
    ...valid.violations,
    ...assertRefines({
      block: schema.block,
      approved,
      final: planned,
      approvedAction: creates ? "create" : "update",
      finalAction,
      legacyTypeSystem,
    }),
  ];
  const subject = `${change.address} (${change.provider.source})`;
  if (isRefused(violations)) {
    report(
      violationsToDiagnostics(
        violations.filter(({ tolerated }) => !tolerated),
        "final plan",
        subject,
      ),
    );
    return undefined;
  }
  return {
    body,
    prior,
    config: configured,
    planned,
    reply,
    sensitive: [
      ...ignoredMarks(
        sensitive,
        creates ? undefined : change.before,
        config.lifecycle.ignoreChanges,
      ),
      ...(reply.sensitive ?? []),
    ],
    schema,
    nothingToDo: finalAction === "no-op",
    report,
  };
}
