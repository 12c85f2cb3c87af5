import type { Logger } from "@stackwright/base/logger";
import { type CallOptions, isStorageError, readStored, WILDCARD } from "@stackwright/storage";
import { mayReact, type ServerClock } from "../clock/server-clock.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { idOf, type TransactionParts } from "../queue/transaction.ts";
import { advancePlanSet } from "./advance-plan-set.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** For repair: advances all sets that are not settled, and ends those whose time for an approval is over, unless the clock of this server is wrong. One that cannot be is reported, and does not concern the others. */
export async function advanceOpenSets(
  parts: TransactionParts & {
    readonly logger?: Logger | undefined;
    /** What is known of the clock of this server. @default it is right */
    readonly serverClock?: ServerClock | undefined;
  },
  options?: CallOptions,
): Promise<void> {
  const mayExpire = await mayReact(parts.serverClock);
  const onDamaged = logDamaged(parts.logger);
  const sets = await listReadable(parts.storage, SERVER_KINDS.planSet, ANYWHERE, {
    ...options,
    onDamaged,
  });
  for (const { id, message } of sets) {
    const { tenancy, name: set } = id;
    const project = { account: tenancy.partition, project: tenancy.namespace };
    try {
      if (!message.settled) await advancePlanSet(parts, { project, set }, { mayExpire });
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
