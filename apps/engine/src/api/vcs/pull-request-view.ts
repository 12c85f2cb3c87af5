import {
  type VcsPullRequest,
  VcsPullRequest_State,
  type VcsRun,
  type VcsTask,
} from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { timeOf } from "../runs/run-view.ts";

const States = Type.Union([Type.Literal("open"), Type.Literal("merged"), Type.Literal("closed")], {
  title: "PullRequestState",
});
const PullRequestRun = Type.Object(
  {
    stack: Type.String(),
    run: Type.Optional(Type.String()),
    problem: Type.Optional(Type.String()),
  },
  { title: "PullRequestRun" },
);

export const PullRequestView = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    author: Type.String(),
    state: States,
    head: Type.String(),
    base: Type.String(),
    base_commit: Type.String(),
    conflicts: Type.Boolean(),
    fork: Type.Boolean(),
    merge_commit: Type.Optional(Type.String()),
    plans: Type.Array(PullRequestRun),
    applies: Type.Array(PullRequestRun),
    apply_requested_by: Type.Optional(Type.String()),
    applied_by_merge: Type.Boolean(),
    note: Type.String(),
    created_at: Type.String(),
    updated_at: Type.String(),
  },
  { title: "PullRequest" },
);

/** A pull request as the server sees it. */
export function pullRequestViewOf(pull: VcsPullRequest): Static<typeof PullRequestView> {
  const { mergeCommit, applyRequestedBy, tree, fork } = pull;
  return {
    id: pull.id,
    title: pull.title,
    author: pull.author,
    state: STATES.get(pull.state) ?? "open",
    head: pull.head,
    base: pull.base,
    base_commit: pull.baseCommit,
    conflicts: tree === "" && !fork,
    fork,
    ...(mergeCommit !== "" && { merge_commit: mergeCommit }),
    plans: pull.plans.map(runViewOf),
    applies: pull.applies.map(runViewOf),
    ...(pull.applyRequested && { apply_requested_by: applyRequestedBy }),
    applied_by_merge: pull.appliedByMerge,
    note: pull.note,
    created_at: timeOf(pull.createdAtMs),
    updated_at: timeOf(pull.updatedAtMs),
  };
}

function runViewOf({ stack, run, problem }: VcsRun): Static<typeof PullRequestRun> {
  return { stack, ...(run !== "" && { run }), ...(problem !== "" && { problem }) };
}

const STATES: ReadonlyMap<VcsPullRequest_State, Static<typeof States>> = new Map([
  [VcsPullRequest_State.STATE_OPEN, "open"],
  [VcsPullRequest_State.STATE_MERGED, "merged"],
  [VcsPullRequest_State.STATE_CLOSED, "closed"],
]);

export const TaskView = Type.Object(
  {
    pull_request: Type.Optional(
      Type.String({ description: "absent for the branch of the connection" }),
    ),
    check: Type.Optional(
      Type.Boolean({
        description:
          "it looks for what no delivery reported; listed while it fails, and true or absent",
      }),
    ),
    attempts: Type.Integer({ description: "failures in a row" }),
    problem: Type.Optional(Type.String()),
    next_at: Type.String(),
    created_at: Type.String(),
  },
  { title: "VcsTask" },
);

/** Work that is left to do. */
export function taskViewOf(task: VcsTask): Static<typeof TaskView> {
  const { pullRequest, problem, attempts, check } = task;
  return {
    ...(check && { check }),
    ...(pullRequest !== "" && { pull_request: pullRequest }),
    attempts,
    ...(problem !== "" && { problem }),
    next_at: timeOf(task.nextAtMs),
    created_at: timeOf(task.createdAtMs),
  };
}
