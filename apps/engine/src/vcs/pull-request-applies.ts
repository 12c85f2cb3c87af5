import { isEnded } from "@stackwright/core";
import {
  Run_Mode,
  type VcsCommand,
  type VcsPullRequest,
  VcsPullRequest_State,
} from "@stackwright/proto/stackwright";
import { countingApprovals } from "../domain/approval-time.ts";
import { isServerError } from "../domain/server-error.ts";
import { approveRun } from "../queue/decide.ts";
import { transact } from "../queue/transaction.ts";
import { policyOf } from "./connection-kind.ts";
import { plansDigest } from "./plans-digest.ts";
import type { PullRequestFacts } from "./provider/vcs-provider.ts";
import { handledOf, type PullRequestRecord, usersOf } from "./pull-request-record.ts";
import { requestStackRuns } from "./request-stack-run.ts";
import { missingReviews } from "./required-reviews.ts";
import { haveSameEffects } from "./same-effects.ts";
import type { ShownRun } from "./shown-run.ts";
import { actorOf } from "./vcs-parts.ts";

/** Does what comments ask for beyond plans. */
export async function carryOutCommands(
  record: PullRequestRecord,
  facts: PullRequestFacts,
  commands: readonly VcsCommand[],
): Promise<void> {
  const asked = commands.filter(({ verb }) => verb === "apply");
  const last = asked.at(-1);
  if (last === undefined) return;
  const refusal = await refusalOf(record, facts, last);
  if (refusal === undefined) return;
  if (refusal !== "") {
    await record.save((stored) => ({
      ...stored,
      note: refusal,
      handled: handledOf(stored, asked),
    }));
    return;
  }
  const requested = await record.save((stored) => ({
    ...stored,
    applyRequested: true,
    applyRequestedBy:
      stored.state === VcsPullRequest_State.STATE_MERGED ? stored.applyRequestedBy : last.user,
    // Runs follow from the time of the first comment, so a repeat finds them. Once they are there, a further one asks for their approval again.
    applyRequestedAtMs:
      stored.applyRequestedAtMs === 0n || stored.applies.length > 0
        ? BigInt(Math.floor(record.parts.clock.wallMs()))
        : stored.applyRequestedAtMs,
    handled: stored.applies.length > 0 ? handledOf(stored, asked) : stored.handled,
    note: `Apply requested by ${usersOf([last])}.`,
    traceParent: record.traceParent,
  }));
  if (requested.state !== VcsPullRequest_State.STATE_OPEN) return;
  if (requested.applies.length > 0) return;
  await restoreTree(record, facts, requested);
  const { reference } = record.open;
  const names = new Set(requested.plans.map(({ stack }) => stack));
  const open = {
    ...record.open,
    connection: {
      ...record.open.connection,
      stacks: record.open.connection.stacks.filter(({ stack }) => names.has(stack)),
    },
  };
  const { runs: applies } = await requestStackRuns(record.parts, open, {
    tree: requested.tree,
    commit: requested.head,
    since: undefined,
    mode: Run_Mode.MODE_APPLY,
    cause: `pull-request:${reference.name}#${record.id}@${requested.head}`,
    message: `${record.name()} ${requested.title}, applied for ${last.user}`,
    identity: ["apply", record.id, requested.head, requested.baseCommit, String(requested.attempt)],
    atMs: Number(requested.applyRequestedAtMs),
    // The plan is compared with the one that was shown first.
    autoApply: false,
  });
  await record.save((stored) => ({
    ...stored,
    applies: [...applies],
    handled: handledOf(stored, asked),
  }));
}

/**
 * The tree that was planned is not here where the copy of the repository was made again, or is on another server: it is merged
 * again from the same commits.
 */
async function restoreTree(
  { open: { repository, connection } }: PullRequestRecord,
  facts: PullRequestFacts,
  { tree, baseCommit, head }: VcsPullRequest,
): Promise<void> {
  if (await repository.hasTree(tree)) return;
  await repository.fetch([`refs/heads/${connection.branch}`, facts.reference, facts.branch]);
  if ((await repository.mergedTree(baseCommit, head)) === tree) return;
  throw new Error(
    `the repository no longer gives the tree ${tree} of the plans; write "stackwright plan"`,
  );
}

/** Why a comment does not apply the pull request; empty where it does, undefined where nothing is said to its author. */
async function refusalOf(
  record: PullRequestRecord,
  facts: PullRequestFacts,
  command: VcsCommand,
): Promise<string | undefined> {
  const { user } = command;
  const { connection } = record.open;
  const { appliers } = connection;
  const isListed = appliers.length === 0 || appliers.includes(user);
  if (!isListed || !(await record.mayWrite(user))) return undefined;
  const pull = await record.read();
  if (policyOf(connection.apply) !== "on_comment") {
    return policyOf(connection.apply) === "on_merge" && (pull?.held ?? "") === ""
      ? "Nothing was applied: the merge applies the plans."
      : "Nothing was applied: plans of merged commits are approved on the server.";
  }
  const [plans, applies] = await record.shown();
  if (pull === undefined || pull.tree === "") return "Nothing was applied: the branches conflict.";
  if (facts.state === "closed") return "Nothing was applied: the pull request is closed.";
  if (pull.head !== facts.head) return "Nothing was applied: a newer commit is being planned.";
  const isPlanned = plans.every(({ phase }) => phase === "plan_finished" || phase === "no_changes");
  if (!isPlanned) return "Nothing was applied: not all plans are there.";
  if (!(await hasSeen(record, pull, plans, command))) {
    return "Nothing was applied: the plans that are shown were not there when the comment was written. Read them, and write it again.";
  }
  if (applies.length > 0 && applies.every(({ phase }) => phase === undefined || isEnded(phase))) {
    return facts.state === "merged"
      ? "Nothing was applied: the runs of the apply have ended. `stackwright runs retry` requests one of them again."
      : "Nothing was applied: the runs of the apply have ended. Write `stackwright plan` to plan again, and `stackwright apply` then.";
  }
  const missing = await missingReviews(record, facts);
  return missing === "" ? "" : `Nothing was applied: ${missing}.`;
}

/** Whether the plans are those that were there when a comment was written, and all of them were made. */
async function hasSeen(
  record: PullRequestRecord,
  pull: VcsPullRequest,
  plans: readonly ShownRun[],
  command: VcsCommand,
): Promise<boolean> {
  const { head, plansSha256, writtenAtMs } = command;
  // When the last plan was made: a delivery may come long after its comment.
  const madeAtMs = plans.reduce(
    (last, { run }) => (run !== undefined && run.updatedAtMs > last ? run.updatedAtMs : last),
    pull.plannedAtMs,
  );
  // Git servers write times in seconds.
  if (head !== pull.head || writtenAtMs + 1_000n <= madeAtMs) return false;
  const { reference } = record.open;
  return (
    plansSha256 === (await transact(record.parts, async (tx) => plansDigest(tx, reference, pull)))
  );
}

/** Approves the plans of the applies that do what was shown; says of the others why they wait. */
export async function approveApplies(record: PullRequestRecord): Promise<void> {
  const pull = await record.read();
  if (pull === undefined || !(pull.applyRequested || pull.held !== "")) return;
  if (pull.state === VcsPullRequest_State.STATE_CLOSED) return;
  const [plans, applies] = await record.shown();
  const problems = new Map<string, string>();
  for (const apply of applies) {
    if (apply.phase !== "awaiting_approval") continue;
    problems.set(apply.stack, await approveOne(record, pull, plans, apply));
  }
  if (problems.size === 0) return;
  await record.save((stored) => ({
    ...stored,
    applies: stored.applies.map((one) => ({
      ...one,
      problem: problems.get(one.stack) ?? one.problem,
    })),
  }));
}

/** Empty where the plan was approved. */
async function approveOne(
  record: PullRequestRecord,
  pull: VcsPullRequest,
  plans: readonly ShownRun[],
  { stack, reference, run }: ShownRun,
): Promise<string> {
  const { signal, reference: connection } = record.open;
  const shown = plans.find((one) => one.stack === stack)?.reference;
  if (reference === undefined || run === undefined) return "";
  const isSame =
    shown !== undefined && (await haveSameEffects(record.parts, shown, reference, signal));
  const { project } = connection;
  const how = `stackwright runs approve ${run.number} --stack ${project}/${stack}`;
  if (!isSame) return `the plan is not the one that the pull request shows: ${how}`;
  if (!pull.applyRequested) return `${pull.held}: ${how}`;
  signal.throwIfAborted();
  try {
    await approveRun(record.parts, reference, {
      actor: actorOf(connection),
      planDigest: run.planDigest,
      isAutomatic: true,
      requestedAtMs: pull.applyRequestedAtMs,
      comment: `${record.name()}, ${pull.appliedByMerge ? "merged" : `requested by ${pull.applyRequestedBy}`}`,
    });
  } catch (error) {
    if (isServerError(error, "run_ended", "illegal_transition", "plan_changed")) return "";
    if (isServerError(error, "approval_expired")) {
      const again =
        pull.state === VcsPullRequest_State.STATE_MERGED
          ? `stackwright runs retry ${run.number} --stack ${project}/${stack}`
          : 'write "stackwright plan", and "stackwright apply" once the plans are there';
      return `the time for the approval of the plan is over: ${again}`;
    }
    if (!isServerError(error, "self_approval", "forbidden", "conflict")) throw error;
    return `${error.message}: ${how}`;
  }
  if (run.requiredApprovals === 1) return "";
  const own = run.approvals.find((one) => one.actor === actorOf(connection));
  const isOver =
    own !== undefined &&
    own.atMs >= pull.applyRequestedAtMs &&
    !countingApprovals(run, record.parts.clock.wallMs()).includes(own);
  const what = isOver ? "the approval of the pull request no longer counts, and " : "";
  const again =
    isOver && policyOf(record.open.connection.apply) === "on_comment"
      ? '; "stackwright apply" approves it again'
      : "";
  return `${what}further approvals are needed: ${how}${again}`;
}
