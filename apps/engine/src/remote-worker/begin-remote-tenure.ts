import { type StorageBackend, tenancyOf } from "@stackwright/storage";
import { createLeases, type LeaseTiming, type Renewer } from "@stackwright/storage/lease";
import { WORKER_LEASE } from "../domain/run-places.ts";
import { RemoteTenure, type RemoteTenureParts } from "./remote-tenure.ts";

interface BeginParts extends RemoteTenureParts {
  /** The storage service, as far as leases of workers need it. */
  readonly storage: StorageBackend;
  /** A name that no worker had before. */
  readonly nextId: () => string;
  readonly timing?: LeaseTiming | undefined;
  readonly renewer?: Renewer;
}

/** Takes a lease under a new name and begins to ask for steps. */
export async function beginRemoteTenure(
  parts: BeginParts,
  signal: AbortSignal,
): Promise<RemoteTenure> {
  const { storage, clock, timing, renewer } = parts;
  const id = parts.nextId();
  const leases = createLeases({
    storage,
    owner: id,
    clock,
    ...(timing !== undefined && { timing }),
    ...(renewer !== undefined && { renewer }),
  });
  const name = { tenancy: tenancyOf({ kind: "site" }), name: `${WORKER_LEASE}${id}` };
  const lease = await leases.acquire(name, { signal });
  return new RemoteTenure(id, lease, parts);
}
