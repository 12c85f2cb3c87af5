import { readStored, type StorageBackend } from "@stackwright/storage";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { runOfMember } from "../plan-set/plan-set-reference.ts";
import { idOf } from "../queue/transaction.ts";
import { readableRecords, removeExpired } from "./expired-records.ts";

/** Removes plan sets that have ended and none of whose runs is stored any longer. Resolves with their number. */
export async function expirePlanSets(
  storage: StorageBackend,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  for await (const one of readableRecords(storage, SERVER_KINDS.planSet, signal)) {
    const { message } = one;
    const { tenancy, name: set } = one.id;
    if (!message.settled) continue;
    const project = { account: tenancy.partition, project: tenancy.namespace };
    const runs = await Promise.all(
      message.members.map(async (member) => {
        const id = idOf(RUN_KIND, runPlace(runOfMember({ project, set }, member)));
        return readStored(storage, "strong", id);
      }),
    );
    if (runs.some((run) => run !== undefined)) continue;
    if (await removeExpired(storage, one)) removed += 1;
  }
  return removed;
}
