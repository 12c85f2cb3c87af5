import { tenancyOf } from "@stackwright/storage";
import { createLeases, type Renewer } from "@stackwright/storage/lease";
import { WORKER_LEASE } from "../domain/run-places.ts";
import { Tenure, type TenureParts } from "./worker-tenure.ts";

export type WorkerParts = TenureParts & {
  readonly renewer?: Renewer | undefined;
};

/** Takes a lease under a new name and begins to work. */
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
  const worker = new Tenure(id, lease, parts, async (dead, given) =>
    leases.acquire(leaseName(dead), { signal: given }),
  );
  worker.start();
  return worker;
}

function leaseName(id: string) {
  return { tenancy: tenancyOf({ kind: "site" }), name: `${WORKER_LEASE}${id}` };
}
