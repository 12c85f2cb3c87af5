import { createHash } from "node:crypto";
import {
  type VcsCheck,
  type VcsConnection,
  VcsPullRequest_State,
} from "@stackwright/proto/stackwright";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { transact } from "../queue/transaction.ts";
import { askFor } from "./ask-for.ts";
import { PullRequestRecord } from "./pull-request-record.ts";
import type { OpenConnection, VcsParts } from "./vcs-parts.ts";
import { BRANCH_KEY, branchPlace, keyedPlace, pullRequestKey } from "./vcs-places.ts";

/** Open pull requests that are looked after: what a branch remembers of them stays small. */
const MAX_HEADS = 500;

/**
 * Looks for what no delivery reported: asks the Git server for the branch and the open pull requests, and makes due what has changed since the
 * last look and differs from what is recorded. The first look remembers pull requests that are not recorded, and plans none of them.
 */
export async function checkConnection(parts: VcsParts, open: OpenConnection): Promise<void> {
  const { connection, reference, repository, provider, guard, signal } = open;
  const base = `refs/heads/${connection.branch}`;
  const references = await repository.list([base, ...provider.listed]);
  const { heads, isComplete } = await provider.openPullRequests(
    connection.branch,
    references,
    signal,
  );
  const ask = async (pullRequest?: string): Promise<void> => {
    const key = pullRequest === undefined ? BRANCH_KEY : pullRequestKey(pullRequest);
    const isNew = await transact(parts, async (tx) => {
      const task = await tx.find(SERVER_KINDS.vcsTask, keyedPlace(reference, connection, key));
      // What fails keeps the time of its next attempt.
      if (task !== undefined) return false;
      tx.guard(guard);
      await askFor(tx, reference, connection, pullRequest === undefined ? {} : { pullRequest });
      return true;
    });
    if (!isNew) return;
    const said = { connection: reference.name, task: key };
    parts.logger.info(said, "a change was found that no delivery reported");
  };

  const place = branchPlace(reference, connection);
  const branch = await transact(
    parts,
    async (tx) => (await tx.find(SERVER_KINDS.vcsBranch, place))?.message,
  );
  if (branch === undefined) return ask();
  const head = references.get(base);
  if (head !== undefined && head !== branch.commit) await ask();

  const source = sourceOf(connection);
  const { check } = branch;
  const isFirst = check === undefined || !source.equals(check.source);
  const before = new Map(isFirst ? [] : check.heads.map(({ id, commit }) => [id, commit]));
  const now = [...heads].slice(0, MAX_HEADS);
  for (const [id, commit] of now) {
    if (before.get(id) === commit) continue;
    const pull = await new PullRequestRecord(parts, open, id).read();
    const isKnown =
      pull === undefined
        ? isFirst
        : pull.head === commit && pull.state !== VcsPullRequest_State.STATE_CLOSED;
    if (!isKnown) await ask(id);
  }
  const gone = [...before].filter(([id]) => !heads.has(id));
  if (isComplete) {
    for (const [id] of gone) {
      const pull = await new PullRequestRecord(parts, open, id).read();
      if (pull?.state === VcsPullRequest_State.STATE_OPEN) await ask(id);
    }
  }
  const kept = isComplete ? now : [...now, ...gone].slice(0, MAX_HEADS);
  const isSame =
    !isFirst &&
    kept.length === before.size &&
    kept.every(([id, commit]) => before.get(id) === commit);
  if (isSame) return;
  await transact(parts, async (tx) => {
    const row = await tx.find(SERVER_KINDS.vcsBranch, place);
    if (row === undefined) return;
    tx.guard(guard);
    const next: VcsCheck = { source, heads: kept.map(([id, commit]) => ({ id, commit })) };
    tx.update(row, { check: next });
  });
}

/** What the pull requests of a connection are of: with other settings they are others. */
function sourceOf({ repositoryUrl, apiUrl, repository, branch }: VcsConnection): Buffer {
  const text = JSON.stringify([repositoryUrl, apiUrl, repository, branch]);
  return createHash("sha256").update(text).digest();
}
