import { type VcsCommand, type VcsConnection, VcsTask } from "@stackwright/proto/stackwright";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { Transaction } from "../queue/transaction.ts";
import { BRANCH_KEY, type ConnectionReference, keyedPlace, pullRequestKey } from "./vcs-places.ts";

/** Comments that wait to be carried out, for one pull request. */
const MAX_COMMANDS = 20;
/** Deliveries whose traces a task remembers, while it waits. */
const MAX_TRACES = 8;

/** Makes work for a connection due: a look at its branch, or at a pull request. Returns the key of the task. */
export async function askFor(
  tx: Transaction,
  reference: ConnectionReference,
  connection: Pick<VcsConnection, "id">,
  { pullRequest, command }: { readonly pullRequest?: string; readonly command?: VcsCommand } = {},
): Promise<string> {
  const key = pullRequest === undefined ? BRANCH_KEY : pullRequestKey(pullRequest);
  const place = keyedPlace(reference, connection, key);
  const row = await tx.findOrNew(SERVER_KINDS.vcsTask, place, () =>
    VcsTask.create({
      connection: reference.name,
      pullRequest: pullRequest ?? "",
      createdAtMs: BigInt(tx.nowMs),
    }),
  );
  const { wanted, commands, traceParents } = row.message;
  const { traceParent } = tx;
  tx.update(row, {
    wanted: wanted + 1n,
    commands: command === undefined ? commands : [...commands, command].slice(-MAX_COMMANDS),
    traceParents:
      traceParent === "" ? traceParents : [...traceParents, traceParent].slice(-MAX_TRACES),
    attempts: 0,
    nextAtMs: BigInt(tx.nowMs),
  });
  return key;
}
