import { createManualClock } from "@stackwright/base/testing";
import { tenancyOf } from "@stackwright/storage";
import { createLeases } from "@stackwright/storage/lease";
import { expect, it } from "vitest";
import { createRunFixture } from "../testing/run-fixture.ts";
import { KEY_WAIT_MS, LiveServers } from "./live-servers.ts";

const TTL_MS = 15_000;
/** Servers of these tests do not say which keys they have, and so may have it. */
const KEY = ["key-1"];

it("a server whose heartbeat stands still for the time to live of a lease counts no more", async () => {
  const { storage, clock } = createRunFixture();
  // Its clock stands still: it holds its lease, and renews it no more.
  const name = { tenancy: tenancyOf({ kind: "site" }), name: "worker.B" };
  const dead = createLeases({ storage, owner: "B", clock: createManualClock() });
  await dead.acquire(name);
  const servers = new LiveServers({ storage, clock });
  expect(await servers.mayHave(KEY)).toBe(true);
  await clock.advance(TTL_MS - 1);
  // It lives as far as is known here, and is waited for from now on.
  expect(await servers.mayHave(KEY)).toBe(true);
  await clock.advance(KEY_WAIT_MS - 1);
  expect(await servers.mayHave(KEY)).toBe(true);
  await clock.advance(1);
  expect(await servers.mayHave(KEY)).toBe(false);
  // Who looks for the first time does not know it yet.
  expect(await new LiveServers({ storage, clock }).mayHave(KEY)).toBe(true);
  // One that comes back, or takes its place, counts again.
  await createLeases({ storage, owner: "C", clock }).acquire({ ...name, name: "worker.C" });
  expect(await servers.mayHave(KEY)).toBe(true);
  await clock.advance(10 * TTL_MS);
  expect(await servers.mayHave(KEY)).toBe(true);
});

it("a server that lives counts however long nobody looks", async () => {
  const { storage, clock, worker } = createRunFixture();
  await worker("A");
  const servers = new LiveServers({ storage, clock });
  for (let look = 0; look < 3; look += 1) {
    expect(await servers.mayHave(KEY)).toBe(true);
    await clock.advance(4 * KEY_WAIT_MS);
  }
});

it("a server that died while it had the lease of another one, too, counts no more", async () => {
  const { storage, clock } = createRunFixture();
  const tenancy = tenancyOf({ kind: "site" });
  const dead = createLeases({ storage, owner: "B", clock: createManualClock() });
  await dead.acquire({ tenancy, name: "worker.A" });
  await dead.acquire({ tenancy, name: "worker.B" });
  const servers = new LiveServers({ storage, clock });
  expect(await servers.mayHave(KEY)).toBe(true);
  await clock.advance(TTL_MS);
  expect(await servers.mayHave(KEY)).toBe(true);
  await clock.advance(KEY_WAIT_MS);
  expect(await servers.mayHave(KEY)).toBe(false);
});
