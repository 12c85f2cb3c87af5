import { randomUUID } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import { tenancyOf } from "@stackwright/storage";
import { createLeases, type LeaseTiming } from "@stackwright/storage/lease";
import { createRemoteStorage } from "@stackwright/storage/remote";
import { onTestFinished } from "vitest";
import { WORKER_LEASE } from "../domain/run-places.ts";
import { LEASE_TOKEN } from "../worker/remote-protocol.ts";

/** Acquires the lease of a worker as a process on another machine does: through the storage service, with its token. */
export async function acquireRemoteLease(
  port: number,
  token: string,
  id: string,
  { timing, clock }: { readonly timing?: LeaseTiming; readonly clock?: Clock } = {},
) {
  const storage = await createRemoteStorage({
    address: { host: "127.0.0.1", port },
    token: `${LEASE_TOKEN}${token}`,
  });
  onTestFinished(async () => storage.close());
  const leases = createLeases({
    storage,
    owner: id,
    ...(timing !== undefined && { timing }),
    ...(clock !== undefined && { clock }),
  });
  const lease = await leases.acquire({
    tenancy: tenancyOf({ kind: "site" }),
    name: `${WORKER_LEASE}${id}`,
  });
  onTestFinished(async () => lease.release().catch(() => undefined));
  return lease;
}

/** The id of another worker of a credential. */
export function otherWorkerId(prefix: string): string {
  return `${prefix}${randomUUID()}`;
}
