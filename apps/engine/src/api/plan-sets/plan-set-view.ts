import type { RunPhase } from "@stackwright/core";
import { RUN_TRANSITIONS } from "@stackwright/core";
import type { PlanSet, PlanSummary, Run } from "@stackwright/proto/stackwright";
import { Run_Mode } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { approvalEndMs } from "../../domain/approval-time.ts";
import {
  PLAN_SET_PHASES,
  type PlanSetPhase,
  planSetPhase,
  setApprovalLimitMs,
} from "../../domain/plan-set-phases.ts";
import { MAX_MEMBERS } from "../../plan-set/create-plan-set.ts";
import { inOrder } from "../../plan-set/set-order.ts";
import { phaseOf } from "../../queue/run-row.ts";
import { expiryOf, timeOf } from "../runs/run-view.ts";

const Mode = Type.Union(
  [Type.Literal("apply"), Type.Literal("plan_only"), Type.Literal("destroy")],
  { title: "PlanSetMode" },
);
const MODE_NAMES: Readonly<Partial<Record<Run_Mode, Static<typeof Mode>>>> = {
  [Run_Mode.MODE_PLAN_ONLY]: "plan_only",
  [Run_Mode.MODE_DESTROY]: "destroy",
};

const MemberView = Type.Object(
  {
    stack: Type.String(),
    run: Type.String(),
    phase: Type.Unsafe<RunPhase | "not_requested">({
      type: "string",
      title: "PlanSetMemberPhase",
      enum: [...Object.keys(RUN_TRANSITIONS), "not_requested"],
    }),
    configuration: Type.String(),
    plan_digest: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
    changes: Type.Optional(
      Type.Object({
        create: Type.Integer(),
        update: Type.Integer(),
        replace: Type.Integer(),
        delete: Type.Integer(),
        import: Type.Integer(),
        move: Type.Integer(),
        forget: Type.Integer(),
      }),
    ),
    reads: Type.Array(Type.String(), {
      description: "stacks of the set whose outputs its plan reads, as planned where they change",
    }),
    waits_for: Type.Optional(Type.String({ description: "the stack whose plan is made first" })),
  },
  { title: "PlanSetMember" },
);

export const PlanSetView = Type.Object(
  {
    id: Type.String(),
    phase: Type.Unsafe<PlanSetPhase>({
      type: "string",
      title: "PlanSetPhase",
      enum: [...PLAN_SET_PHASES],
    }),
    mode: Mode,
    actor: Type.String(),
    message: Type.String(),
    digest: Type.Optional(Type.String({ description: "of all plans: what is approved" })),
    stacks: Type.Array(MemberView, { description: "in the order in which they are applied" }),
    required_approvals: Type.Integer(),
    exclude_author: Type.Boolean(),
    approvers: Type.Array(Type.String()),
    approvals: Type.Array(
      Type.Object({
        actor: Type.String(),
        comment: Type.String(),
        at: Type.String(),
        expires_at: Type.Optional(Type.String({ description: "from then on it no longer counts" })),
      }),
    ),
    approval_expires_at: Type.Optional(
      Type.String({
        description: "until when the set can be approved; absent where that has no end",
      }),
    ),
    reason: Type.Optional(Type.String()),
    reason_code: Type.Optional(
      Type.String({ description: "`approval_expired` for a set that was not approved in time" }),
    ),
    created_at: Type.String(),
    updated_at: Type.String(),
  },
  { title: "PlanSet" },
);

export const NewPlanSet = Type.Object(
  {
    stacks: Type.Array(
      Type.Object(
        {
          stack: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" }),
          configuration: Type.String({ pattern: "^[0-9a-f]{64}$" }),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: MAX_MEMBERS },
    ),
    mode: Type.Optional(Mode),
    message: Type.Optional(Type.String({ maxLength: 1024 })),
  },
  { additionalProperties: false, title: "NewPlanSet" },
);

/** What is known of the run of a member. */
export interface MemberFacts {
  readonly run: Run | undefined;
  readonly summary: PlanSummary | undefined;
}

/** A plan set as the API shows it. */
export function planSetViewOf(
  set: PlanSet,
  factsOf: (run: string) => MemberFacts | undefined = () => undefined,
): Static<typeof PlanSetView> {
  const names = new Map(set.members.map(({ stack, stackName }) => [stack, stackName]));
  const nameOf = (stack: string): string => names.get(stack) ?? stack;
  return {
    id: set.id,
    phase: planSetPhase(set.phase),
    mode: MODE_NAMES[set.mode] ?? "apply",
    actor: set.actor,
    message: set.message,
    ...(set.digest !== "" && { digest: set.digest }),
    stacks: inOrder(set).map((member) => {
      const { run, summary } = factsOf(member.run) ?? {};
      return {
        stack: member.stackName,
        run: member.run,
        phase: run === undefined ? ("not_requested" as const) : phaseOf(run),
        configuration: member.configuration,
        ...(run !== undefined && run.planDigest !== "" && { plan_digest: run.planDigest }),
        ...(run !== undefined && run.reason !== "" && { reason: run.reason }),
        ...(summary !== undefined &&
          summary.planDigest === run?.planDigest && { changes: changesOf(summary) }),
        reads: member.reads.map(nameOf).toSorted(),
        ...(member.waitsFor !== "" && { waits_for: nameOf(member.waitsFor) }),
      };
    }),
    required_approvals: Math.max(1, set.requiredApprovals),
    exclude_author: set.excludeAuthor,
    approvers: [...set.approvers],
    approvals: set.approvals.map(({ actor, comment, atMs }) => ({
      actor,
      comment,
      at: timeOf(atMs),
      ...expiryOf("expires_at", approvalEndMs(set, { atMs })),
    })),
    ...expiryOf("approval_expires_at", setApprovalLimitMs(set)),
    ...(set.reason !== "" && { reason: set.reason }),
    ...(set.reasonCode !== "" && { reason_code: set.reasonCode }),
    created_at: timeOf(set.createdAtMs),
    updated_at: timeOf(set.updatedAtMs),
  };
}

function changesOf(summary: PlanSummary) {
  const { create, update, replace, delete: deleted, import: imported, move, forget } = summary;
  return { create, update, replace, delete: deleted, import: imported, move, forget };
}
