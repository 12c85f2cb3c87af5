import type { Clock } from "@stackwright/base/clock";
import {
  listResourceHeads,
  type ResourceHead,
  readStored,
  type StorageBackend,
  tenancyOf,
} from "@stackwright/storage";
import {
  createLeases,
  FENCE_TYPE,
  fenceResourceId,
  heartbeatId,
  type LeaseTiming,
} from "@stackwright/storage/lease";
import { WORKER_LEASE } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";

/** How long a lease is waited for: longer than a lease without renewal is valid. */
const WAIT_MS = 60_000;

/**
 * Removes the fences and heartbeats of workers that have ended, and what they said of their keys: of those that returned their leases, and of those that died
 * without claims, which no other worker relieves. The lease says whether a worker lives: it can be acquired only after it is
 * over. Resolves with the number of removed tenures.
 */
export async function removeEndedTenures(
  {
    storage,
    clock,
    token,
    timing,
  }: {
    readonly storage: StorageBackend;
    readonly clock: Clock;
    readonly token: () => string;
    readonly timing?: LeaseTiming;
  },
  signal: AbortSignal,
): Promise<number> {
  const tenancy = tenancyOf({ kind: "site" });
  const leases = createLeases({
    storage,
    owner: `retention-${token()}`,
    clock,
    ...(timing !== undefined && { timing }),
  });
  // Before the fences: a tenure has its fence first, so that keys without one are of a server that ended.
  const published: ResourceHead[] = [];
  const { type } = SERVER_KINDS.serverKeys;
  const keyHeads = listResourceHeads(storage, "strong", type, tenancy, "", { signal });
  for await (const head of keyHeads) published.push(head);
  const fences: ResourceHead[] = [];
  const heads = listResourceHeads(storage, "strong", FENCE_TYPE, tenancy, WORKER_LEASE, { signal });
  for await (const head of heads) fences.push(head);
  const ended = await Promise.all(
    fences.map(async ({ id: { name } }) => {
      const over = new AbortController();
      using _late = clock.after(WAIT_MS, () => over.abort());
      const lease = await leases
        .acquire({ tenancy, name }, { signal: AbortSignal.any([signal, over.signal]) })
        .catch(() => undefined);
      if (lease === undefined) return 0;
      await lease.release();
      for (const id of [heartbeatId({ tenancy, name }), fenceResourceId({ tenancy, name })]) {
        const found = await readStored(storage, "strong", id);
        if (found !== undefined) await storage.deleteCAS(found.id, found.version);
      }
      return 1;
    }),
  );
  await Promise.all(
    published.map(async ({ id }) => {
      const lease = { tenancy, name: `${WORKER_LEASE}${id.name}` };
      if ((await readStored(storage, "strong", fenceResourceId(lease))) !== undefined) return;
      const found = await readStored(storage, "strong", id);
      if (found !== undefined) await storage.deleteCAS(found.id, found.version);
    }),
  );
  return ended.reduce<number>((sum, one) => sum + one, 0);
}
