import { createManualClock } from "@stackwright/base/testing";
import { tenancyOf } from "@stackwright/storage";
import { createLeases } from "@stackwright/storage/lease";
import { expect, it } from "vitest";
import { createRunFixture } from "../testing/run-fixture.ts";
import { LiveServers } from "./live-servers.ts";

const TTL_MS = 15_000;

it("a server whose heartbeat stands still for the time to live of a lease counts no more", async () => {
  const { storage, clock, worker } = createRunFixture();
  await worker("A");
  // Its clock stands still: it holds its lease, and renews it no more.
  const name = { tenancy: tenancyOf({ kind: "site" }), name: "worker.B" };
  const dead = createLeases({ storage, owner: "B", clock: createManualClock() });
  await dead.acquire(name);
  const servers = new LiveServers({ storage, clock });
  expect(await servers.areSeveral()).toBe(true);
  await clock.advance(TTL_MS - 1);
  expect(await servers.areSeveral()).toBe(true);
  await clock.advance(1);
  expect(await servers.areSeveral()).toBe(false);
  // Who looks for the first time does not know it yet.
  expect(await new LiveServers({ storage, clock }).areSeveral()).toBe(true);
  // One that comes back, or takes its place, counts again.
  await createLeases({ storage, owner: "C", clock }).acquire({ ...name, name: "worker.C" });
  expect(await servers.areSeveral()).toBe(true);
  await clock.advance(10 * TTL_MS);
  expect(await servers.areSeveral()).toBe(true);
});

it("a server that lives counts however long nobody looks", async () => {
  const { storage, clock, worker } = createRunFixture();
  await worker("A");
  await worker("B");
  const servers = new LiveServers({ storage, clock });
  for (let look = 0; look < 3; look += 1) {
    expect(await servers.areSeveral()).toBe(true);
    await clock.advance(4 * TTL_MS);
  }
});
