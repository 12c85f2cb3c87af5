import { tenancyOf } from "@stackwright/storage";
import { createLeases, type Lease, type Renewer } from "@stackwright/storage/lease";
import { WORKER_LEASE } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { transact } from "../queue/transaction.ts";
import { Tenure, type TenureParts } from "./worker-tenure.ts";

export type WorkerParts = TenureParts & {
  readonly renewer?: Renewer | undefined;
};

/** Takes a lease under a new name, says which keys and which release the server has, and begins to work. */
export async function beginTenure(parts: WorkerParts, signal: AbortSignal): Promise<Tenure> {
  const { storage, clock, timing, renewer } = parts;
  const id = parts.token();
  const leases = createLeases({
    storage,
    owner: id,
    clock,
    ...(timing !== undefined && { timing }),
    ...(renewer !== undefined && { renewer }),
  });
  const lease = await leases.acquire(leaseName(id), { signal });
  try {
    await publishKeys(parts, id, lease);
  } catch (error) {
    await lease.release();
    throw error;
  }
  const worker = new Tenure(id, lease, parts, async (dead, given) =>
    leases.acquire(leaseName(dead), { signal: given }),
  );
  worker.start();
  return worker;
}

/** What other servers leave to this one, they see by its keys. */
async function publishKeys(
  parts: TenureParts,
  id: string,
  { guard, signal: lost }: Lease,
): Promise<void> {
  const place = { tenancy: tenancyOf({ kind: "site" }), name: id };
  await transact(parts, async (tx) => {
    lost.throwIfAborted();
    tx.guard(guard);
    const { keys, release = "" } = parts;
    tx.create(SERVER_KINDS.serverKeys, place, {
      keyIds: [...keys.keyIds],
      release,
      clock: undefined,
    });
    return Promise.resolve();
  });
}

function leaseName(id: string) {
  return { tenancy: tenancyOf({ kind: "site" }), name: `${WORKER_LEASE}${id}` };
}
