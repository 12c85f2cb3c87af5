import type { Logger } from "@stackwright/base/logger";
import type { PlanSet } from "@stackwright/proto/stackwright";
import { type CallOptions, isStorageError, readStored, WILDCARD } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf, type TransactionParts } from "../queue/transaction.ts";
import { advancePlanSet } from "./advance-plan-set.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** For repair: advances all sets that are not settled. One that cannot be is reported, and does not concern the others. */
export async function advanceOpenSets(
  parts: TransactionParts & { readonly logger?: Logger | undefined },
  options?: CallOptions,
): Promise<void> {
  const { type } = SERVER_KINDS.planSet;
  for (const resource of await parts.storage.list("strong", type, ANYWHERE, "", options)) {
    const { tenancy, name: set } = resource.id;
    const project = { account: tenancy.partition, project: tenancy.namespace };
    try {
      const message: PlanSet = decodeRecord(SERVER_KINDS.planSet, resource);
      if (!message.settled) await advancePlanSet(parts, { project, set });
    } catch (error) {
      if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
      parts.logger?.error({ ...project, set, err: error }, "a plan set could not be advanced");
    }
  }
}

/** Advances the set of a run, where it is of one. */
export async function advanceSetOf(
  parts: TransactionParts,
  { stack, run }: RunReference,
): Promise<void> {
  const found = await readStored(parts.storage, "strong", idOf(RUN_KIND, runPlace({ stack, run })));
  const set = found === undefined ? "" : decodeRecord(RUN_KIND, found).planSet;
  if (set === "") return;
  const { account, project } = stack;
  await advancePlanSet(parts, { project: { account, project }, set });
}
