import {
  Run_Mode,
  VcsBranch,
  VcsPullRequest_State,
  type VcsStep,
} from "@stackwright/proto/stackwright";
import { listResources } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { projectTenancy } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { transact } from "../queue/transaction.ts";
import { askFor } from "./ask-for.ts";
import { VcsError } from "./provider/vcs-provider.ts";
import { requestStackRuns } from "./request-stack-run.ts";
import type { OpenConnection, VcsParts } from "./vcs-parts.ts";
import { branchPlace } from "./vcs-places.ts";

/** Steps that a branch remembers: pull requests look for the one that has their merge. */
const MAX_STEPS = 30;

/**
 * Looks at the branch of a connection: for what is new there since the last look, a run is requested for each stack that is affected. The
 * first look requests nothing. What decides is the history of the repository: deliveries may be lost, late and in any order.
 *
 * A step is noted before its runs are requested, and its runs follow from it by name: after a crash it is done again, with the same runs.
 */
export async function advanceBranch(parts: VcsParts, open: OpenConnection): Promise<VcsBranch> {
  const { connection, repository } = open;
  const reference = `refs/heads/${connection.branch}`;
  const head = (await repository.fetch([reference])).get(reference) ?? "";
  let branch = await noteStep(parts, open, head);
  for (;;) {
    const step = branch.steps.at(-1);
    if (step === undefined || step.commit === branch.commit) return branch;
    branch = await takeStep(parts, open, branch, step);
    if (branch.commit === head) {
      await askForMerged(parts, open, branch.commit);
      return branch;
    }
    branch = await noteStep(parts, open, head);
  }
}

async function noteStep(parts: VcsParts, open: OpenConnection, head: string): Promise<VcsBranch> {
  const place = branchPlace(open.reference, open.connection);
  return transact(parts, async (tx) => {
    const found = await tx.find(SERVER_KINDS.vcsBranch, place);
    const updatedAtMs = BigInt(tx.nowMs);
    if (found === undefined) {
      tx.guard(open.guard);
      const first = VcsBranch.create({ commit: head, updatedAtMs });
      tx.create(SERVER_KINDS.vcsBranch, place, first);
      return first;
    }
    const { commit, steps } = found.message;
    const last = steps.at(-1);
    const isOpen = last !== undefined && last.commit !== commit;
    // A branch that is gone keeps what was applied of it.
    if (isOpen || head === commit || head === "") return found.message;
    tx.guard(open.guard);
    const next: VcsStep = { commit: head, runs: [], atMs: updatedAtMs };
    tx.update(found, { steps: [...steps, next].slice(-MAX_STEPS), updatedAtMs });
    return found.message;
  });
}

async function takeStep(
  parts: VcsParts,
  open: OpenConnection,
  { commit: last, readCommit: before = last }: VcsBranch,
  { commit, atMs }: VcsStep,
): Promise<VcsBranch> {
  const { repository, connection, reference } = open;
  // What was pushed over before it was planned is nowhere any more: the next step has all that is new.
  if (!(await repository.has(commit))) {
    return endStep(parts, open, { commit, atMs, runs: [] }, before);
  }
  // What was there before may be gone from the repository: then everything counts as new.
  const isKnown = before !== "" && (await repository.has(before));
  const { title, author } = await repository.subjectOf(commit);
  const { runs, problem } = await requestStackRuns(parts, open, {
    tree: await repository.treeOf(commit),
    commit,
    since: isKnown ? await repository.treeOf(before) : undefined,
    mode: Run_Mode.MODE_APPLY,
    cause: `push:${reference.name}@${commit}`,
    message: `${commit.slice(0, 8)} ${title} (${author})`,
    identity: ["push", connection.branch, commit],
    atMs: Number(atMs),
    // When its plan is applied says the connection, and not the project.
    autoApply: false,
  });
  const step = { commit, atMs, runs: [...runs] };
  if (problem === "") return endStep(parts, open, step);
  await reportUnread(parts, open, commit, problem);
  return endStep(parts, open, step, before);
}

/** Says at a commit why nothing is planned for it. The branch does not wait for a server that takes no statuses. */
async function reportUnread(
  { logger }: VcsParts,
  { provider, reference, signal }: OpenConnection,
  commit: string,
  problem: string,
): Promise<void> {
  logger.warn({ connection: reference.name, commit, problem }, "a commit could not be read");
  const description = problem.slice(0, 140);
  try {
    const context = "stackwright/apply";
    await provider.writeStatus({ commit, context, state: "error", description }, signal);
  } catch (error) {
    if (!(error instanceof VcsError)) throw error;
    logger.warn({ connection: reference.name, commit, err: error }, "a status was not taken");
  }
}

/** Notes what was requested for a step, and that the branch has it. */
async function endStep(
  parts: VcsParts,
  { reference, connection, guard }: OpenConnection,
  { commit, atMs, runs }: VcsStep,
  /** The commit since which the next step has what is new. @default that of this step */
  readCommit?: string,
): Promise<VcsBranch> {
  return transact(parts, async (tx) => {
    const row = await tx.get(SERVER_KINDS.vcsBranch, branchPlace(reference, connection));
    tx.guard(guard);
    const steps = row.message.steps.map((one) =>
      one.commit === commit && one.atMs === atMs ? { ...one, runs } : one,
    );
    tx.update(row, { commit, readCommit, steps, updatedAtMs: BigInt(tx.nowMs) });
    return row.message;
  });
}

/** Makes the pull requests due whose newest commit the branch has now. */
async function askForMerged(
  parts: VcsParts,
  { reference, connection, repository, guard }: OpenConnection,
  commit: string,
): Promise<void> {
  const { type } = SERVER_KINDS.vcsPullRequest;
  const prefix = `${connection.id}.`;
  const all = listResources(parts.storage, "strong", type, projectTenancy(reference), prefix, {});
  for await (const resource of all) {
    const { id, head, state } = decodeRecord(SERVER_KINDS.vcsPullRequest, resource);
    if (state !== VcsPullRequest_State.STATE_OPEN || !(await repository.isAncestor(head, commit)))
      continue;
    await transact(parts, async (tx) => {
      tx.guard(guard);
      await askFor(tx, reference, connection, { pullRequest: id });
    });
  }
}
