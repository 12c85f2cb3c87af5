import { createHash } from "node:crypto";
import {
  Run_Mode,
  type VcsCommand,
  type VcsPullRequest,
  VcsPullRequest_State,
} from "@stackwright/proto/stackwright";
import { advanceBranch } from "./advance-branch.ts";
import { policyOf } from "./connection-kind.ts";
import type { CommitStatus, PullRequestFacts } from "./provider/vcs-provider.ts";
import { approveApplies, carryOutCommands } from "./pull-request-applies.ts";
import { handledOf, PullRequestRecord, usersOf } from "./pull-request-record.ts";
import { reportOf } from "./pull-request-report.ts";
import { requestStackRuns } from "./request-stack-run.ts";
import { whyHeld } from "./required-reviews.ts";
import type { ShownRun } from "./shown-run.ts";
import type { OpenConnection, VcsParts } from "./vcs-parts.ts";

/** How a pull request stands after a look at it. */
export interface AdvancedPullRequest {
  /** Nothing is left to do before something happens that is delivered. */
  readonly isSettled: boolean;
  /** The runs that are waited for. */
  readonly awaited: readonly string[];
}

const SETTLED: AdvancedPullRequest = { isSettled: true, awaited: [] };

/**
 * Brings everything about a pull request up to date: its plans, what its comments ask for, its applies, the comment and the statuses. What
 * counts is what the Git server says now. Every part may be repeated after a crash: runs follow by name from what they are for, the
 * comment is replaced, and statuses are sent again only where they differ.
 */
export async function advancePullRequest(
  parts: VcsParts,
  open: OpenConnection,
  id: string,
  commands: readonly VcsCommand[],
): Promise<AdvancedPullRequest> {
  return advance(new PullRequestRecord(parts, open, id), commands);
}

async function advance(
  record: PullRequestRecord,
  given: readonly VcsCommand[],
): Promise<AdvancedPullRequest> {
  const { provider, connection, signal } = record.open;
  const facts = await provider.pullRequest(record.id, signal);
  let pull = await record.read();
  const handled = new Set(pull?.handled);
  const commands = given.filter(({ delivery }) => !handled.has(delivery));
  if (facts === undefined) {
    if (pull === undefined) return SETTLED;
    pull = await vanished(record, pull);
  } else {
    if (facts.base !== connection.branch || facts.head === "") return leave(record, pull);
    // What was merged or closed before it was ever planned is of no interest.
    if (pull === undefined && facts.state !== "open") return SETTLED;
    pull = await record.save((stored) => ({
      ...stored,
      title: facts.title,
      author: facts.author,
      base: facts.base,
      // One that had no branch of the repository once stays what it is.
      fork: facts.fork || stored.fork,
      state: STATES[facts.state],
      mergeCommit: facts.mergeCommit ?? "",
      // Its runs were canceled: it is planned again.
      ...(facts.state === "open" &&
        stored.state === VcsPullRequest_State.STATE_CLOSED && {
          plannedAtMs: 0n,
          attempt: stored.attempt + 1,
          note: "",
        }),
    }));
  }
  if (pull.fork) {
    await record.save((stored) => ({ ...stored, head: facts?.head ?? stored.head }));
    await report(record, [], []);
    return SETTLED;
  }
  let isBehind = false;
  if (facts !== undefined && pull.state === VcsPullRequest_State.STATE_OPEN) {
    await planHead(record, facts, commands);
    const planned = await record.read();
    // The repository and the API of its server may differ for a moment.
    isBehind = planned?.head !== facts.head;
    if (planned?.fork === true) {
      await report(record, [], []);
      return SETTLED;
    }
  }
  if (pull.state === VcsPullRequest_State.STATE_MERGED) await findApplies(record, facts);
  if (pull.state === VcsPullRequest_State.STATE_CLOSED) {
    await record.cancel([...pull.plans, ...pull.applies]);
  }
  if (facts !== undefined) await carryOutCommands(record, facts, commands);
  await approveApplies(record);
  const [plans, applies] = await record.shown();
  await report(record, plans, applies);
  const awaited = [...plans, ...applies].filter(({ isSettled }) => !isSettled);
  return {
    isSettled: awaited.length === 0 && !isBehind,
    awaited: awaited.flatMap(({ reference, comparison }) => {
      if (reference === undefined) return [];
      return comparison === undefined
        ? [reference.run]
        : [reference.run, comparison.comparison.shadowRun];
    }),
  };
}

/** A pull request that is for another branch now: for that of the connection it is closed. */
async function leave(
  record: PullRequestRecord,
  pull: VcsPullRequest | undefined,
): Promise<AdvancedPullRequest> {
  if (pull?.state !== VcsPullRequest_State.STATE_OPEN) return SETTLED;
  // Before it is noted, so that a crash leaves none of them.
  await record.cancel([...pull.plans, ...pull.applies]);
  const state = VcsPullRequest_State.STATE_CLOSED;
  const note = `The pull request is for another branch now, and not for \`${record.open.connection.branch}\`.`;
  await record.save((stored) => ({ ...stored, state, note }));
  const [plans, applies] = await record.shown();
  await report(record, plans, applies);
  return SETTLED;
}

/** A branch that was deleted: merged if the branch of the connection has its newest commit. */
async function vanished(record: PullRequestRecord, pull: VcsPullRequest): Promise<VcsPullRequest> {
  if (pull.state !== VcsPullRequest_State.STATE_OPEN) return pull;
  const { repository, connection } = record.open;
  const base = `refs/heads/${connection.branch}`;
  const commit = (await repository.fetch([base])).get(base);
  const isMerged = commit !== undefined && (await repository.isAncestor(pull.head, commit));
  return record.save((stored) => ({
    ...stored,
    state: isMerged ? VcsPullRequest_State.STATE_MERGED : VcsPullRequest_State.STATE_CLOSED,
    mergeCommit: isMerged ? pull.head : "",
  }));
}

/** Plans the newest commit together with its base, if that was not done or a comment asks for it again. */
async function planHead(
  record: PullRequestRecord,
  facts: PullRequestFacts,
  commands: readonly VcsCommand[],
): Promise<void> {
  const { repository, connection, reference } = record.open;
  const again = commands.filter(({ verb }) => verb === "plan");
  const isAsked = await record.someMayWrite(again);
  const before = await record.read();
  const isNew = before === undefined || before.head !== facts.head || before.plannedAtMs === 0n;
  if (!isNew && !isAsked && before.plans.length > 0) return;
  if (!isNew && !isAsked && before.tree === "") return;
  const base = `refs/heads/${connection.branch}`;
  const fetched = await repository.fetch([base, facts.reference, facts.branch]);
  const [baseCommit, head] = [fetched.get(base), fetched.get(facts.reference)];
  if (baseCommit === undefined || head === undefined) {
    throw new Error(`the repository lacks ${baseCommit === undefined ? base : facts.reference}`);
  }
  const own = fetched.get(facts.branch);
  if (own === undefined || !(await repository.isAncestor(head, own))) {
    // Gitea makes pull requests of users who may only read, without a fork or a branch.
    await record.save((stored) => ({ ...stored, fork: true, head }));
    return;
  }
  const tree = (await repository.mergedTree(baseCommit, head)) ?? "";
  const isPlanned = (known: Pick<VcsPullRequest, "head" | "baseCommit" | "plannedAtMs">): boolean =>
    known.head === head && known.baseCommit === baseCommit && known.plannedAtMs !== 0n && !isAsked;
  if (before !== undefined && !isPlanned(before) && (isNew || isAsked)) {
    await record.cancel([...before.plans, ...before.applies]);
  }
  const noted = await record.save((stored) => {
    if (isPlanned(stored)) return stored;
    return {
      ...stored,
      head,
      baseCommit,
      tree,
      plans: [],
      applies: [],
      applyRequested: false,
      held: "",
      applyRequestedAtMs: 0n,
      appliedByMerge: false,
      attempt: stored.attempt + (isAsked ? 1 : 0),
      note: isAsked ? `Planned again for ${usersOf(again)}.` : "",
      handled: handledOf(stored, again),
      plannedAtMs: BigInt(Math.floor(record.parts.clock.wallMs())),
      traceParent: record.traceParent,
    };
  });
  if (tree === "") return;
  const { runs: plans } = await requestStackRuns(record.parts, record.open, {
    tree,
    commit: head,
    since: await repository.treeOf(baseCommit),
    mode: Run_Mode.MODE_PLAN_ONLY,
    cause: `pull-request:${reference.name}#${record.id}@${head}`,
    message: `${record.name()} ${noted.title}`,
    identity: ["plan", record.id, head, baseCommit, String(noted.attempt)],
    atMs: Number(noted.plannedAtMs),
  });
  await record.save((stored) => ({ ...stored, plans: [...plans] }));
}

/** The runs that the branch got for the merge. */
async function findApplies(
  record: PullRequestRecord,
  facts: PullRequestFacts | undefined,
): Promise<void> {
  const { repository, connection } = record.open;
  const branch = await advanceBranch(record.parts, record.open);
  const pull = await record.read();
  if (pull === undefined || pull.mergeCommit === "") return;
  if (pull.applies.length > 0 && pull.appliedByMerge) return;
  for (const step of branch.steps) {
    if (!(await repository.isAncestor(pull.mergeCommit, step.commit))) continue;
    const planned = new Set(pull.plans.map(({ stack }) => stack));
    const applies = step.runs.filter(({ stack }) => planned.has(stack));
    const isByMerge = policyOf(connection.apply) === "on_merge";
    // Of the moment of the merge: what reviews say later is for the server.
    const held = isByMerge && applies.length > 0 ? await whyHeld(record, facts) : "";
    await record.save((stored) => ({
      ...stored,
      applies,
      applyRequested: isByMerge && held === "",
      held,
      applyRequestedBy: "merge",
      appliedByMerge: true,
      traceParent: record.traceParent,
    }));
    return;
  }
}

async function report(
  record: PullRequestRecord,
  plans: readonly ShownRun[],
  applies: readonly ShownRun[],
): Promise<void> {
  const { provider, markerOf, signal } = record.open;
  const pull = await record.read();
  if (pull === undefined) return;
  const { text, statuses } = await reportOf(record.parts, record.open, pull, plans, applies);
  // Nothing is said where there is nothing to say, unless something was said before.
  const isSaid = plans.length > 0 || pull.tree === "" || pull.commentId !== "" || pull.note !== "";
  const commentSha256 = createHash("sha256").update(text).digest("hex");
  if (isSaid && commentSha256 !== pull.commentSha256) {
    const { account: owner } = record.open.reference;
    await record.parts.blobs.write(Buffer.from(text), { signal, owner });
    const comment = { commentId: pull.commentId, marker: markerOf(pull.id), text };
    const commentId = await provider.writeComment(pull.id, comment, signal);
    await record.save((stored) => ({ ...stored, commentId, commentSha256 }));
  }
  const sent: CommitStatus[] = [];
  try {
    for (const status of statuses) {
      const known = pull.statuses.some(
        (one) =>
          one.commit === status.commit &&
          one.context === status.context &&
          one.state === status.state &&
          one.description === status.description,
      );
      if (!known) await provider.writeStatus(status, signal);
      sent.push(status);
    }
  } finally {
    if (sent.length > 0) await record.save((stored) => ({ ...stored, statuses: sent }));
  }
}

const STATES: Readonly<Record<PullRequestFacts["state"], VcsPullRequest_State>> = {
  open: VcsPullRequest_State.STATE_OPEN,
  merged: VcsPullRequest_State.STATE_MERGED,
  closed: VcsPullRequest_State.STATE_CLOSED,
};
