import { RUN_TRANSITIONS, type RunPhase } from "@stackwright/core";
import type { Run } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { approvalEndMs, approvalLimitMs } from "../../domain/approval-time.ts";
import { modeNameOf } from "../../domain/run-modes.ts";
import { DEFAULT_POOL } from "../../domain/run-places.ts";
import { phaseOf } from "../../queue/run-row.ts";
import { ENGINE_TOOL } from "../../queue/stack-tool.ts";
import type { NotedStuck } from "../../queue/stuck-steps.ts";
import { placeOfApply, placeOfRun } from "../../span/trace-context.ts";

const REPEATED_MODES = [
  Type.Literal("apply"),
  Type.Literal("plan_only"),
  Type.Literal("destroy"),
  Type.Literal("refresh_only"),
] as const;

export const RunModes = Type.Union([...REPEATED_MODES, Type.Literal("import")], {
  title: "RunMode",
});

/** Modes of runs that are requested again and again, without what only one of them has. */
export const RepeatedRunModes = Type.Union([...REPEATED_MODES], { title: "RepeatedRunMode" });

/** An object that a run imports. */
export const RunImportSchema = Type.Object(
  {
    address: Type.String({ minLength: 1, maxLength: 1024 }),
    id: Type.String({ minLength: 1, maxLength: 4096, description: "as its provider names it" }),
  },
  { additionalProperties: false, title: "RunImport" },
);

export const RunSchema = Type.Object(
  {
    id: Type.String(),
    number: Type.Integer(),
    phase: Type.Unsafe<RunPhase>({
      type: "string",
      title: "RunPhase",
      enum: Object.keys(RUN_TRANSITIONS),
    }),
    mode: Type.Union([RunModes, Type.Literal("command")]),
    actor: Type.String(),
    cause: Type.String(),
    message: Type.String(),
    targets: Type.Array(Type.String()),
    replace: Type.Array(Type.String()),
    imports: Type.Optional(Type.Array(RunImportSchema)),
    configuration: Type.String(),
    auto_apply: Type.Boolean(),
    pool: Type.String({ description: "the workers that execute it; those of servers: default" }),
    created_at: Type.String(),
    updated_at: Type.String(),
    trace_id: Type.String({ description: "the trace that its plan is part of" }),
    apply_trace_id: Type.Optional(
      Type.String({ description: "the trace that its apply is part of, if that is another one" }),
    ),
    plan_digest: Type.Optional(Type.String()),
    revision: Type.Optional(Type.Integer()),
    reason: Type.Optional(Type.String()),
    reason_code: Type.Optional(Type.String()),
    required_approvals: Type.Integer(),
    exclude_author: Type.Boolean(),
    approvers: Type.Array(Type.String()),
    superseded_by: Type.Optional(Type.String()),
    source: Type.Optional(Type.String({ description: "what a run of the mode plan_only plans" })),
    retry_of: Type.Optional(Type.String()),
    approvals: Type.Array(
      Type.Object({
        actor: Type.String(),
        plan_digest: Type.String(),
        comment: Type.String(),
        at: Type.String(),
        expires_at: Type.Optional(
          Type.String({
            description:
              "when it counts no longer: from then on it is not one of those that are needed, and has to be given again",
          }),
        ),
      }),
    ),
    approval_expires_at: Type.Optional(
      Type.String({
        description:
          "when the time for an approval, or for an apply by the approvals that were given, is over; the run ends a minute later",
      }),
    ),
    tool: Type.String({ description: "what plans and applies it: stackwright, terraform or tofu" }),
    shadow_of: Type.Optional(
      Type.String({ description: "the run of a tool whose plan this one is compared with" }),
    ),
    plan_set: Type.Optional(
      Type.String({ description: "the plan set that it is of, with which it is approved" }),
    ),
    stage: Type.Optional(
      Type.Object(
        {
          number: Type.Integer(),
          previous: Type.Optional(Type.String({ description: "the run of the stage before" })),
          next: Type.Optional(Type.String({ description: "the run of the stage after" })),
          left: Type.Array(Type.String(), { description: "blocks that its plan leaves" }),
        },
        { description: "of a run that applies its configuration in stages" },
      ),
    ),
    stuck: Type.Optional(
      Type.Object(
        {
          why: Type.Union([Type.Literal("unclaimed"), Type.Literal("silent")], {
            description: "no worker takes its step, or nothing is heard of it",
          }),
          noted_at: Type.String(),
        },
        { description: "a server noted its step as stuck; where one run is shown" },
      ),
    ),
    cancel: Type.Optional(Type.Object({ stage: Type.Integer(), actor: Type.String() })),
    freeze_override: Type.Optional(
      Type.Object({ actor: Type.String(), reason: Type.String(), at: Type.String() }),
    ),
  },
  { title: "Run" },
);

/** A run as the API shows it. */
export function runViewOf(run: Run, stuck?: NotedStuck): Static<typeof RunSchema> {
  const { traceId } = placeOfRun(run);
  const { traceId: applyTraceId } = placeOfApply(run);
  const { planDigest, revision, reason, reasonCode, cancel, freezeOverride, stage } = run;
  return {
    id: run.id,
    number: Number(run.number),
    phase: phaseOf(run),
    mode: modeNameOf(run.mode) ?? "command",
    actor: run.actor === "" ? run.cause : run.actor,
    cause: run.cause,
    message: run.message,
    targets: run.targets,
    replace: run.replace,
    ...(run.imports.length > 0 && {
      imports: run.imports.map(({ address, id }) => ({ address, id })),
    }),
    configuration: run.configuration,
    auto_apply: run.autoApply,
    pool: run.pool === "" ? DEFAULT_POOL : run.pool,
    created_at: timeOf(run.createdAtMs),
    updated_at: timeOf(run.updatedAtMs),
    trace_id: traceId,
    ...(applyTraceId !== traceId && { apply_trace_id: applyTraceId }),
    ...(planDigest !== "" && { plan_digest: planDigest }),
    ...(revision !== 0n && { revision: Number(revision) }),
    ...(reason !== "" && { reason }),
    ...(reasonCode !== "" && { reason_code: reasonCode }),
    required_approvals: run.requiredApprovals,
    exclude_author: run.excludeAuthor,
    approvers: [...run.approvers],
    ...(run.supersededBy !== "" && { superseded_by: run.supersededBy }),
    ...(run.source !== "" && { source: run.source }),
    ...(run.retryOf !== "" && { retry_of: run.retryOf }),
    approvals: run.approvals.map(({ actor, planDigest: digest, comment, atMs }) => ({
      actor,
      plan_digest: digest,
      comment,
      at: timeOf(atMs),
      ...expiryOf("expires_at", approvalEndMs(run, { atMs })),
    })),
    ...expiryOf("approval_expires_at", approvalLimitMs(run, phaseOf(run))),
    ...(freezeOverride !== undefined && {
      freeze_override: {
        actor: freezeOverride.actor,
        reason: freezeOverride.reason,
        at: timeOf(freezeOverride.atMs),
      },
    }),
    tool: run.tool === "" ? ENGINE_TOOL : run.tool,
    ...(run.shadowOf !== "" && { shadow_of: run.shadowOf }),
    ...(run.planSet !== "" && { plan_set: run.planSet }),
    ...(stage !== undefined && {
      stage: {
        number: stage.number,
        ...(stage.previous !== "" && { previous: stage.previous }),
        ...(stage.next !== "" && { next: stage.next }),
        left: [...stage.left],
      },
    }),
    ...(stuck !== undefined && {
      stuck: { why: stuck.why, noted_at: timeOf(BigInt(stuck.notedAtMs)) },
    }),
    ...(cancel !== undefined && { cancel: { stage: cancel.stage, actor: cancel.actor } }),
  };
}

/** A member with a time; none for what has no end. */
export function expiryOf<N extends string>(
  name: N,
  ms: number | undefined,
): Partial<Record<N, string>> {
  if (ms === undefined) return {};
  const member: Partial<Record<N, string>> = {};
  member[name] = timeOf(BigInt(ms));
  return member;
}

/** A time in RFC 3339. */
export function timeOf(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}
