import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assertCode } from "../testing/assertions.ts";
import { A1, HOME, sample } from "../testing/samples.ts";
import { createThreadedStorage, startThreadedHost } from "../testing/threaded/threaded-storage.ts";
import type { StorageBackend } from "../types.ts";
import { fenceResourceId, heartbeatId } from "./lease-records.ts";
import { createLeases, type Lease, type Leases } from "./leases.ts";
import type { Renewer } from "./renewer.ts";
import { createThreadRenewer } from "./thread-renewer.ts";

const name = `storage-${randomUUID()}`;
const module = new URL("../testing/threaded/threaded-storage.ts", import.meta.url).href;
const source = { module, factory: "createThreadedStorage", options: { name } };
const TIMING = { ttlMs: 3_000, renewMs: 100, stopMs: 2_000 };

let host: AsyncDisposable;
let storage: StorageBackend;

beforeAll(async () => {
  host = await startThreadedHost(name);
  storage = createThreadedStorage({ name });
});

afterAll(async () => {
  await storage.close();
  await host[Symbol.asyncDispose]();
});

function leasesOf(owner: string, renewer: Renewer): Leases {
  return createLeases({ storage, owner, timing: TIMING, renewer });
}

/** Has the thread up, which may take longer than a short lease has on a busy machine. */
async function startThread(renewer: Renewer): Promise<void> {
  const timing = { ttlMs: 60_000, renewMs: 100, stopMs: 50_000 };
  const leases = createLeases({ storage, owner: "first", timing, renewer });
  await using lease = await leases.acquire({ tenancy: HOME, name: `first-${randomUUID()}` });
  await firstRenewal(lease);
}

/** The thread is up as soon as it has renewed for the first time. */
async function firstRenewal(lease: Lease): Promise<void> {
  const acquired = await storage.read("strong", heartbeatId(lease.name));
  for (;;) {
    if (lease.signal.aborted) throw lease.signal.reason;
    const stored = await storage.read("strong", heartbeatId(lease.name));
    if (stored.version !== acquired.version) return;
    await delay(10);
  }
}

/** Resolves when a lease is lost. */
async function loss({ signal }: Lease): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

/** A turn of this thread that takes long. */
function spin(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe("renewal in a thread of its own", () => {
  test("keeps a lease through a turn that is longer than the time to live", async () => {
    await using renewer = createThreadRenewer({ source });
    await startThread(renewer);
    await using lease = await leasesOf("one", renewer).acquire({
      tenancy: HOME,
      name: "long-turn",
    });
    await firstRenewal(lease);
    const id = heartbeatId(lease.name);
    const before = await storage.read("strong", id);
    spin(TIMING.ttlMs * 1.1);
    expect(lease.isHeld()).toBe(true);
    const after = await storage.read("strong", id);
    // Not one renewal in a row, but many: no reader saw the heartbeat stand still.
    expect(Number(after.version) - Number(before.version)).toBeGreaterThan(5);
    expect(lease.signal.aborted).toBe(false);
    await storage.writeCAS(sample(A1, HOME, "guarded"), { guards: [lease.guard] });
  });

  test("renews, with a thread that starts later, what is held then", async () => {
    await using renewer = createThreadRenewer({ source, startDelayMs: 50 });
    // The thread has to start before the deadline.
    const timing = { ttlMs: 60_000, renewMs: 100, stopMs: 50_000 };
    const leases = createLeases({ storage, owner: "one", timing, renewer });
    await using lease = await leases.acquire({ tenancy: HOME, name: "later" });
    const ended = await leases.acquire({ tenancy: HOME, name: "ended" });
    await ended.release();
    await firstRenewal(lease);
    expect(lease.isHeld()).toBe(true);
  });

  test("notifies the holder when the lease was taken", async () => {
    await using renewer = createThreadRenewer({ source });
    const lease = await leasesOf("one", renewer).acquire({ tenancy: HOME, name: "taken" });
    const fence = await storage.read("strong", fenceResourceId(lease.name));
    await storage.writeCAS(fence);
    await loss(lease);
    expect(lease.signal.reason).toMatchObject({ code: "STORAGE_LEASE_LOST" });
    expect(lease.isHeld()).toBe(false);
    const late = storage.writeCAS(sample(A1, HOME, "late"), { guards: [lease.guard] });
    await assertCode(late, "STORAGE_GUARD_FAILED");
    await lease.release();
  });

  test("stops on release, and serves many leases", async () => {
    await using renewer = createThreadRenewer({ source });
    const leases = leasesOf("one", renewer);
    const held = await Promise.all(
      ["a", "b", "c"].map((letter) => leases.acquire({ tenancy: HOME, name: `many-${letter}` })),
    );
    for (const lease of held) await lease.release();
    const ids = held.map((lease) => heartbeatId(lease.name));
    const versions = await Promise.all(ids.map((id) => storage.read("strong", id)));
    await delay(TIMING.renewMs * 3);
    const later = await Promise.all(ids.map((id) => storage.read("strong", id)));
    expect(later.map((one) => one.version)).toEqual(versions.map((one) => one.version));
  });

  test("releases the leases of a worker that no longer runs", async () => {
    await using renewer = createThreadRenewer({ source, maxSilenceMs: 1_500 });
    await startThread(renewer);
    const lease = await leasesOf("one", renewer).acquire({ tenancy: HOME, name: "stuck" });
    await firstRenewal(lease);
    const id = heartbeatId(lease.name);
    spin(2_500);
    const stopped = await storage.read("strong", id);
    await delay(TIMING.renewMs * 3);
    expect((await storage.read("strong", id)).version).toBe(stopped.version);
    expect(lease.signal.aborted).toBe(true);
  });

  test.each(["STORAGE_INCONSISTENT", "STORAGE_PERMISSION_DENIED"] as const)(
    "keeps a lease when the store is away with %s while the thread opens it",
    async (code) => {
      const left = new Int32Array(new SharedArrayBuffer(4)).fill(3);
      const options = { name, unavailable: left.buffer, code };
      await using renewer = createThreadRenewer({ source: { ...source, options } });
      // The thread has to start and to open four times before the deadline.
      const timing = { ttlMs: 60_000, renewMs: 100, stopMs: 50_000 };
      const leases = createLeases({ storage, owner: "one", timing, renewer });
      await using lease = await leases.acquire({ tenancy: HOME, name: `away-${code}` });
      await firstRenewal(lease);
      expect(Atomics.load(left, 0)).toBeLessThan(0);
      expect(lease.isHeld()).toBe(true);
    },
  );

  test("gives a lease up at its deadline when the store stays unavailable", async () => {
    const left = new Int32Array(new SharedArrayBuffer(4)).fill(1_000_000);
    const options = { name, unavailable: left.buffer };
    await using renewer = createThreadRenewer({ source: { ...source, options } });
    // The thread has to start, and to fail once, before the deadline.
    const timing = { ttlMs: 6_000, renewMs: 100, stopMs: 4_000 };
    const leases = createLeases({ storage, owner: "one", timing, renewer });
    const lease = await leases.acquire({ tenancy: HOME, name: "stays-away" });
    await loss(lease);
    const message = "the lease could not be renewed in time: the store is unavailable";
    const details = { lost: "late" };
    expect(lease.signal.reason).toMatchObject({ code: "STORAGE_LEASE_LOST", message, details });
    await lease.release();
  });

  test("ends the leases at once when the thread cannot open its store", async () => {
    await using renewer = createThreadRenewer({ source: { ...source, factory: "nothing" } });
    const lease = await leasesOf("one", renewer).acquire({ tenancy: HOME, name: "no-store" });
    await loss(lease);
    expect(lease.signal.reason).toMatchObject({
      code: "STORAGE_LEASE_LOST",
      message: expect.stringContaining("exports no nothing"),
    });
    await lease.release();
  });
});
