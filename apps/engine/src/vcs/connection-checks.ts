import { type VcsConnection, VcsTask } from "@stackwright/proto/stackwright";
import { WILDCARD } from "@stackwright/storage";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { type Transaction, transact } from "../queue/transaction.ts";
import type { VcsParts } from "./vcs-parts.ts";
import { CHECK_KEY, type ConnectionReference, keyedPlace } from "./vcs-places.ts";

/** How often a connection is looked through for what no delivery reported: a quarter more or less. */
const CHECK_MS = 5 * 60_000;

/** When the next look is due: not at the same time for all connections. */
export function checkPauseMs(random: () => number): number {
  return Math.floor(CHECK_MS * (0.75 + random() / 2));
}

/** Makes a connection be looked through from some time on, unless it is. */
export async function addCheck(
  tx: Transaction,
  reference: ConnectionReference,
  connection: Pick<VcsConnection, "id">,
  atMs: number,
): Promise<void> {
  const place = keyedPlace(reference, connection, CHECK_KEY);
  if ((await tx.find(SERVER_KINDS.vcsTask, place)) !== undefined) return;
  tx.create(
    SERVER_KINDS.vcsTask,
    place,
    VcsTask.create({
      connection: reference.name,
      check: true,
      createdAtMs: BigInt(tx.nowMs),
      nextAtMs: BigInt(Math.floor(atMs)),
    }),
  );
}

/** Makes all connections be looked through, also those of earlier releases; `known`: names of the tasks that are there. */
export async function addChecks(
  parts: VcsParts,
  known: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  const anywhere = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
  const onDamaged = logDamaged(parts.logger);
  const found = await listReadable(parts.storage, SERVER_KINDS.vcsConnection, anywhere, {
    signal,
    prefix: "",
    onDamaged,
  });
  for (const { id, message } of found) {
    const { partition: account, namespace: project } = id.tenancy;
    const reference = { account, project, name: message.name };
    if (known.has(keyedPlace(reference, message, CHECK_KEY).name)) continue;
    await transact(parts, async (tx) =>
      addCheck(tx, reference, message, tx.nowMs + CHECK_MS * parts.random()),
    );
  }
}
