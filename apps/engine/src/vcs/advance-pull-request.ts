import { createHash } from "node:crypto";
import {
  Run_Mode,
  type VcsCommand,
  VcsPullRequest,
  VcsPullRequest_State,
  type VcsRun,
} from "@stackwright/proto/stackwright";
import { isServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { cancelRun } from "../queue/cancel.ts";
import { approveRun } from "../queue/decide.ts";
import { transact } from "../queue/transaction.ts";
import { advanceBranch } from "./advance-branch.ts";
import { policyOf } from "./connection-kind.ts";
import { plansDigest } from "./plans-digest.ts";
import { type CommitStatus, type PullRequestFacts, VcsError } from "./provider/vcs-provider.ts";
import { reportOf } from "./pull-request-report.ts";
import { requestStackRuns } from "./request-stack-run.ts";
import { haveSameEffects } from "./same-effects.ts";
import { readShownRun, type ShownRun } from "./shown-run.ts";
import { actorOf, type OpenConnection, type VcsParts } from "./vcs-parts.ts";
import { keyedPlace, pullRequestKey } from "./vcs-places.ts";

/** Phases in which nothing is done for a run. */
const WAITING: ReadonlySet<string> = new Set(["queued", "awaiting_approval", "policy_failed"]);

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
  const work = new PullRequestWork(parts, open, id);
  return work.advance(commands);
}

class PullRequestWork {
  readonly #parts: VcsParts;
  readonly #open: OpenConnection;
  readonly #id: string;

  constructor(parts: VcsParts, open: OpenConnection, id: string) {
    this.#parts = parts;
    this.#open = open;
    this.#id = id;
  }

  async advance(given: readonly VcsCommand[]): Promise<AdvancedPullRequest> {
    const { provider, connection, signal } = this.#open;
    const facts = await provider.pullRequest(this.#id, signal);
    let pull = await this.#read();
    const handled = new Set(pull?.handled);
    const commands = given.filter(({ delivery }) => !handled.has(delivery));
    if (facts === undefined) {
      if (pull === undefined) return SETTLED;
      pull = await this.#vanished(pull);
    } else {
      if (facts.base !== connection.branch || facts.head === "") return SETTLED;
      // What was merged or closed before it was ever planned is of no interest.
      if (pull === undefined && facts.state !== "open") return SETTLED;
      pull = await this.#save((stored) => ({
        ...stored,
        title: facts.title,
        author: facts.author,
        base: facts.base,
        // One that had no branch of the repository once stays what it is.
        fork: facts.fork || stored.fork,
        state: STATES[facts.state],
        mergeCommit: facts.mergeCommit ?? "",
      }));
    }
    if (pull.fork) {
      await this.#save((stored) => ({ ...stored, head: facts?.head ?? stored.head }));
      await this.#report([], []);
      return SETTLED;
    }
    if (facts !== undefined && pull.state === VcsPullRequest_State.STATE_OPEN) {
      await this.#plan(facts, commands);
      const planned = await this.#read();
      if (planned?.fork === true) {
        await this.#report([], []);
        return SETTLED;
      }
    }
    if (pull.state === VcsPullRequest_State.STATE_MERGED) await this.#findApplies();
    if (pull.state === VcsPullRequest_State.STATE_CLOSED) {
      await this.#cancel([...pull.plans, ...pull.applies]);
    }
    if (facts !== undefined) await this.#carryOut(facts, commands);
    await this.#approve();
    const [plans, applies] = await this.#shown();
    await this.#report(plans, applies);
    const awaited = [...plans, ...applies].filter(({ isSettled }) => !isSettled);
    const isClosed = pull.state === VcsPullRequest_State.STATE_CLOSED;
    return {
      isSettled: isClosed || awaited.length === 0,
      awaited: awaited.flatMap(({ reference, comparison }) => {
        if (reference === undefined) return [];
        return comparison === undefined
          ? [reference.run]
          : [reference.run, comparison.comparison.shadowRun];
      }),
    };
  }

  /** A branch that was deleted: merged if the branch of the connection has its newest commit. */
  async #vanished(pull: VcsPullRequest): Promise<VcsPullRequest> {
    if (pull.state !== VcsPullRequest_State.STATE_OPEN) return pull;
    const { repository, connection } = this.#open;
    const base = `refs/heads/${connection.branch}`;
    const commit = (await repository.fetch([base])).get(base);
    const isMerged = commit !== undefined && (await repository.isAncestor(pull.head, commit));
    return this.#save((stored) => ({
      ...stored,
      state: isMerged ? VcsPullRequest_State.STATE_MERGED : VcsPullRequest_State.STATE_CLOSED,
      mergeCommit: isMerged ? pull.head : "",
    }));
  }

  /** Plans the newest commit together with its base, if that was not done or a comment asks for it again. */
  async #plan(facts: PullRequestFacts, commands: readonly VcsCommand[]): Promise<void> {
    const { repository, connection, reference } = this.#open;
    const again = commands.filter(({ verb }) => verb === "plan");
    const isAsked = await this.#someMayWrite(again);
    const before = await this.#read();
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
      await this.#save((stored) => ({ ...stored, fork: true, head }));
      return;
    }
    const tree = (await repository.mergedTree(baseCommit, head)) ?? "";
    if (before !== undefined && (isNew || isAsked)) {
      await this.#cancel([...before.plans, ...before.applies]);
    }
    const noted = await this.#save((stored) => {
      const isSame = stored.head === head && stored.baseCommit === baseCommit && !isAsked;
      if (isSame && stored.plannedAtMs !== 0n) return stored;
      return {
        ...stored,
        head,
        baseCommit,
        tree,
        plans: [],
        applies: [],
        applyRequested: false,
        appliedByMerge: false,
        attempt: stored.attempt + (isAsked ? 1 : 0),
        note: isAsked ? `Planned again for ${usersOf(again)}.` : "",
        handled: handledOf(stored, again),
        plannedAtMs: BigInt(Math.floor(this.#parts.clock.wallMs())),
      };
    });
    if (tree === "") return;
    const { runs: plans } = await requestStackRuns(this.#parts, this.#open, {
      tree,
      commit: head,
      since: await repository.treeOf(baseCommit),
      mode: Run_Mode.MODE_PLAN_ONLY,
      cause: `pull-request:${reference.name}#${this.#id}@${head}`,
      message: `${this.#name()} ${noted.title}`,
      identity: ["plan", this.#id, head, baseCommit, String(noted.attempt)],
      atMs: Number(noted.plannedAtMs),
    });
    await this.#save((stored) => ({ ...stored, plans: [...plans] }));
  }

  /** The runs that the branch got for the merge. */
  async #findApplies(): Promise<void> {
    const { repository, connection } = this.#open;
    const branch = await advanceBranch(this.#parts, this.#open);
    const pull = await this.#read();
    if (pull === undefined || pull.mergeCommit === "") return;
    if (pull.applies.length > 0 && pull.appliedByMerge) return;
    for (const step of branch.steps) {
      if (!(await repository.isAncestor(pull.mergeCommit, step.commit))) continue;
      const planned = new Set(pull.plans.map(({ stack }) => stack));
      const applies = step.runs.filter(({ stack }) => planned.has(stack));
      await this.#save((stored) => ({
        ...stored,
        applies,
        applyRequested: policyOf(connection.apply) === "on_merge",
        applyRequestedBy: "merge",
        appliedByMerge: true,
      }));
      return;
    }
  }

  /** Does what comments ask for beyond plans. */
  async #carryOut(facts: PullRequestFacts, commands: readonly VcsCommand[]): Promise<void> {
    const last = commands.findLast(({ verb }) => verb === "apply");
    if (last === undefined) return;
    const refusal = await this.#refusalOf(facts, last);
    if (refusal === undefined) return;
    if (refusal !== "") {
      await this.#save((stored) => ({
        ...stored,
        note: refusal,
        handled: handledOf(stored, [last]),
      }));
      return;
    }
    const requested = await this.#save((stored) => ({
      ...stored,
      applyRequested: true,
      applyRequestedBy:
        stored.state === VcsPullRequest_State.STATE_MERGED ? stored.applyRequestedBy : last.user,
      applyRequestedAtMs:
        stored.applyRequestedAtMs === 0n
          ? BigInt(Math.floor(this.#parts.clock.wallMs()))
          : stored.applyRequestedAtMs,
      note: `Apply requested by ${usersOf([last])}.`,
    }));
    if (requested.state !== VcsPullRequest_State.STATE_OPEN) return;
    if (requested.applies.length > 0) return;
    const { reference } = this.#open;
    const names = new Set(requested.plans.map(({ stack }) => stack));
    const open = {
      ...this.#open,
      connection: {
        ...this.#open.connection,
        stacks: this.#open.connection.stacks.filter(({ stack }) => names.has(stack)),
      },
    };
    const { runs: applies } = await requestStackRuns(this.#parts, open, {
      tree: requested.tree,
      commit: requested.head,
      since: undefined,
      mode: Run_Mode.MODE_APPLY,
      cause: `pull-request:${reference.name}#${this.#id}@${requested.head}`,
      message: `${this.#name()} ${requested.title}, applied for ${last.user}`,
      identity: [
        "apply",
        this.#id,
        requested.head,
        requested.baseCommit,
        String(requested.attempt),
      ],
      atMs: Number(requested.applyRequestedAtMs),
      // The plan is compared with the one that was shown first.
      autoApply: false,
    });
    await this.#save((stored) => ({ ...stored, applies: [...applies] }));
  }

  /** Why a comment does not apply the pull request; empty where it does, undefined where nothing is said to its author. */
  async #refusalOf(facts: PullRequestFacts, command: VcsCommand): Promise<string | undefined> {
    const { user } = command;
    const { connection, provider, signal } = this.#open;
    const { appliers, requiredReviews } = connection;
    const isListed = appliers.length === 0 || appliers.includes(user);
    if (!isListed || !(await this.#mayWrite(user))) return undefined;
    if (policyOf(connection.apply) !== "on_comment") {
      return policyOf(connection.apply) === "on_merge"
        ? "Nothing was applied: the merge applies the plans."
        : "Nothing was applied: plans of merged commits are approved on the server.";
    }
    const [plans] = await this.#shown();
    const pull = await this.#read();
    if (pull === undefined || pull.tree === "")
      return "Nothing was applied: the branches conflict.";
    if (facts.state === "closed") return "Nothing was applied: the pull request is closed.";
    if (pull.head !== facts.head) return "Nothing was applied: a newer commit is being planned.";
    const isPlanned = plans.every(
      ({ phase }) => phase === "plan_finished" || phase === "no_changes",
    );
    if (!isPlanned) return "Nothing was applied: not all plans are there.";
    if (!(await this.#hasSeen(pull, command))) {
      return "Nothing was applied: the plans that are shown were not there when the comment was written. Read them, and write it again.";
    }
    if (facts.state === "merged") return "";
    // Who may only read can approve as well, and does not count.
    let approving = 0;
    for (const approver of await provider.approvers(this.#id, facts, signal)) {
      if (approving < requiredReviews && (await this.#mayWrite(approver))) approving += 1;
    }
    if (approving < requiredReviews) {
      return `Nothing was applied: ${approving} of ${requiredReviews} approving reviews of the newest commit.`;
    }
    return "";
  }

  /** Whether the plans are those that were there when a comment was written, and all of them were made. */
  async #hasSeen(pull: VcsPullRequest, command: VcsCommand): Promise<boolean> {
    const { head, plansSha256, writtenAtMs } = command;
    // Git servers write times in seconds.
    if (head !== pull.head || writtenAtMs + 1_000n <= pull.plannedAtMs) return false;
    const { reference } = this.#open;
    return (
      plansSha256 === (await transact(this.#parts, async (tx) => plansDigest(tx, reference, pull)))
    );
  }

  /** Approves the plans of the applies that do what was shown; says of the others why they wait. */
  async #approve(): Promise<void> {
    const pull = await this.#read();
    if (pull === undefined || !pull.applyRequested) return;
    const [plans, applies] = await this.#shown();
    const problems = new Map<string, string>();
    for (const apply of applies) {
      if (apply.phase !== "awaiting_approval") continue;
      problems.set(apply.stack, await this.#approveOne(pull, plans, apply));
    }
    if (problems.size === 0) return;
    await this.#save((stored) => ({
      ...stored,
      applies: stored.applies.map((one) => ({
        ...one,
        problem: problems.get(one.stack) ?? one.problem,
      })),
    }));
  }

  /** Empty where the plan was approved. */
  async #approveOne(
    pull: VcsPullRequest,
    plans: readonly ShownRun[],
    { stack, reference, run }: ShownRun,
  ): Promise<string> {
    const { signal, reference: connection } = this.#open;
    const shown = plans.find((one) => one.stack === stack)?.reference;
    if (reference === undefined || run === undefined) return "";
    const isSame =
      shown !== undefined && (await haveSameEffects(this.#parts, shown, reference, signal));
    const { project } = connection;
    const how = `stackwright runs approve ${run.number} --stack ${project}/${stack}`;
    if (!isSame) return `the plan is not the one that the pull request shows: ${how}`;
    signal.throwIfAborted();
    try {
      await approveRun(this.#parts, reference, {
        actor: actorOf(connection),
        planDigest: run.planDigest,
        comment: `${this.#name()}, ${pull.appliedByMerge ? "merged" : `requested by ${pull.applyRequestedBy}`}`,
      });
    } catch (error) {
      if (isServerError(error, "run_ended", "illegal_transition", "plan_changed")) return "";
      if (!isServerError(error, "self_approval", "forbidden", "conflict")) throw error;
      return `${error.message}: ${how}`;
    }
    return run.requiredApprovals > 1 ? `further approvals are needed: ${how}` : "";
  }

  async #shown(): Promise<readonly [readonly ShownRun[], readonly ShownRun[]]> {
    const pull = await this.#read();
    const read = async (runs: readonly VcsRun[]) =>
      Promise.all(runs.map(async (run) => readShownRun(this.#parts, this.#open.reference, run)));
    return [await read(pull?.plans ?? []), await read(pull?.applies ?? [])];
  }

  async #report(plans: readonly ShownRun[], applies: readonly ShownRun[]): Promise<void> {
    const { provider, markerOf, signal } = this.#open;
    const pull = await this.#read();
    if (pull === undefined) return;
    const { text, statuses } = await reportOf(this.#parts, this.#open, pull, plans, applies);
    // Nothing is said where there is nothing to say, unless something was said before.
    const isSaid =
      plans.length > 0 || pull.tree === "" || pull.commentId !== "" || pull.note !== "";
    const commentSha256 = createHash("sha256").update(text).digest("hex");
    if (isSaid && commentSha256 !== pull.commentSha256) {
      const { account: owner } = this.#open.reference;
      await this.#parts.blobs.write(Buffer.from(text), { signal, owner });
      const comment = { commentId: pull.commentId, marker: markerOf(pull.id), text };
      const commentId = await provider.writeComment(pull.id, comment, signal);
      await this.#save((stored) => ({ ...stored, commentId, commentSha256 }));
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
      if (sent.length > 0) await this.#save((stored) => ({ ...stored, statuses: sent }));
    }
  }

  /** Cancels runs that are of no use any more, where they have not begun or wait for an approval. */
  async #cancel(runs: readonly VcsRun[]): Promise<void> {
    for (const run of runs) {
      const { reference, phase } = await readShownRun(this.#parts, this.#open.reference, run);
      if (reference === undefined || !WAITING.has(phase ?? "")) continue;
      try {
        await cancelRun(this.#parts, reference, { actor: actorOf(this.#open.reference) });
      } catch (error) {
        if (!isServerError(error)) throw error;
      }
    }
  }

  async #someMayWrite(commands: readonly VcsCommand[]): Promise<boolean> {
    for (const user of new Set(commands.map((command) => command.user))) {
      if (await this.#mayWrite(user)) return true;
    }
    return false;
  }

  /** Whether a user may write to the repository; no where the token may not ask. */
  async #mayWrite(user: string): Promise<boolean> {
    const { provider, signal, reference } = this.#open;
    try {
      return await provider.mayWrite(user, signal);
    } catch (error) {
      if (!(error instanceof VcsError) || error.status !== 403) throw error;
      const note =
        "The token of the connection is not allowed to read the permissions of users, so comments do nothing.";
      await this.#save((stored) => ({ ...stored, note }));
      this.#parts.logger.warn({ connection: reference.name, err: error }, "a comment was left out");
      return false;
    }
  }

  async #read(): Promise<VcsPullRequest | undefined> {
    return transact(
      this.#parts,
      async (tx) => (await tx.find(SERVER_KINDS.vcsPullRequest, this.#place()))?.message,
    );
  }

  async #save(change: (stored: VcsPullRequest) => VcsPullRequest): Promise<VcsPullRequest> {
    return transact(this.#parts, async (tx) => {
      const row = await tx.findOrNew(SERVER_KINDS.vcsPullRequest, this.#place(), () =>
        VcsPullRequest.create({
          id: this.#id,
          connection: this.#open.reference.name,
          createdAtMs: BigInt(tx.nowMs),
        }),
      );
      tx.guard(this.#open.guard);
      tx.update(row, { ...change(row.message), updatedAtMs: BigInt(tx.nowMs) });
      return row.message;
    });
  }

  #place() {
    return keyedPlace(this.#open.reference, this.#open.connection, pullRequestKey(this.#id));
  }

  /** As people write it. */
  #name(): string {
    return /^[0-9]+$/.test(this.#id) ? `#${this.#id}` : this.#id;
  }
}

const STATES: Readonly<Record<PullRequestFacts["state"], VcsPullRequest_State>> = {
  open: VcsPullRequest_State.STATE_OPEN,
  merged: VcsPullRequest_State.STATE_MERGED,
  closed: VcsPullRequest_State.STATE_CLOSED,
};

/** Comments that a pull request remembers: a task has fewer. */
const MAX_HANDLED = 50;

function handledOf({ handled }: VcsPullRequest, commands: readonly VcsCommand[]): string[] {
  const added = commands.map(({ delivery }) => delivery);
  return [...handled, ...added].slice(-MAX_HANDLED);
}

/** Names of users for a comment: as code, so that no user is notified. */
function usersOf(commands: readonly VcsCommand[]): string {
  const users = new Set(commands.map(({ user }) => user.replaceAll(/[^\w.@-]/g, "")));
  return [...users].map((user) => `\`${user}\``).join(", ");
}
