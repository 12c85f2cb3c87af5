import type { PlanSet } from "@stackwright/proto/stackwright";
import { listResources, readStored, type StorageBackend, WILDCARD } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { runOfMember } from "../plan-set/plan-set-reference.ts";
import { idOf } from "../queue/transaction.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** Removes plan sets that have ended and none of whose runs is stored any longer. Resolves with their number. */
export async function expirePlanSets(
  storage: StorageBackend,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  const { type } = SERVER_KINDS.planSet;
  for await (const resource of listResources(storage, "strong", type, ANYWHERE, "", { signal })) {
    const { tenancy, name: set } = resource.id;
    let message: PlanSet;
    try {
      message = decodeRecord(SERVER_KINDS.planSet, resource);
    } catch {
      // Of a newer release, or damaged: not ours to remove.
      continue;
    }
    if (!message.settled) continue;
    const project = { account: tenancy.partition, project: tenancy.namespace };
    const runs = await Promise.all(
      message.members.map(async (member) => {
        const id = idOf(RUN_KIND, runPlace(runOfMember({ project, set }, member)));
        return readStored(storage, "strong", id);
      }),
    );
    if (runs.some((run) => run !== undefined)) continue;
    await storage.deleteCAS(resource.id, resource.version);
    removed += 1;
  }
  return removed;
}
