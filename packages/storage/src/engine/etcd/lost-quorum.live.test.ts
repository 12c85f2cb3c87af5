import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLeases, createThreadRenewer, type Lease } from "../../lease/index.ts";
import { startOwnServers } from "../../testing/live/own-servers.ts";
import { HOME } from "../../testing/samples.ts";
import { createEtcdStorage } from "../etcd.ts";

/** Far less than the five seconds between the renewal that comes and the end of the lease. */
const AWAY_MS = 2_000;

// A write that a member took over while it had no quorum may be answered never, as it is dropped with the next leader. Such a renewal must
// not cost a lease that is long since renewable again.

test("leases outlive a quorum that is lost for less than they last, at each moment between renewals", async (context) => {
  await using own = await startOwnServers(["etcd", "--members", "3"]);
  if (own === undefined) {
    context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
    return;
  }
  const { endpoints } = own;
  await using storage = await createEtcdStorage({ endpoints });
  const module = new URL("../etcd.ts", import.meta.url).href;
  await using renewer = createThreadRenewer({
    source: { module, factory: "createEtcdStorage", options: { endpoints } },
  });
  const leases = createLeases({ storage, owner: "one", renewer });
  const held: Lease[] = [];
  // Their renewals, each 5 s after the one before, are spread over the outage and what comes after it.
  for (let index = 0; index < 20; index += 1) {
    held.push(await leases.acquire({ tenancy: HOME, name: `lease-${index}` }));
    await delay(250);
  }
  for (const member of [0, 1]) await own.command(`kill9 ${member}`);
  await delay(AWAY_MS);
  for (const member of [0, 1]) await own.command(`restart ${member}`);
  // By then one that was not renewed since before the outage is lost.
  await delay(10_500);
  const lost = held.filter(({ signal }) => signal.aborted).map(({ signal }) => signal.reason);
  expect(lost).toEqual([]);
}, 180_000);
