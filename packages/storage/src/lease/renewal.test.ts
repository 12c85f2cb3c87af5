import { createManualClock } from "@stackwright/base/testing";
import { expect, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import type { Resource } from "../resource.ts";
import { DelegatingStorage } from "../testing/delegate.ts";
import { HOME } from "../testing/samples.ts";
import type { StorageBackend, WriteOptions } from "../types.ts";
import { createLeases } from "./leases.ts";
import { Renewal, type RenewalTask } from "./renewal.ts";

const TIMING = { ttlMs: 9_000, renewMs: 2_000, stopMs: 6_000 };

/** Leaves writes without an answer, from the second one on, until it is given. */
class LeavesOpen extends DelegatingStorage {
  readonly #open: (() => void)[] = [];
  /** How many of the next writes are stored without an answer, and how many are dropped. */
  unanswered = 0;
  dropped = 0;
  reads = 0;

  override async read(...given: Parameters<StorageBackend["read"]>): Promise<Resource> {
    this.reads += 1;
    return this.inner.read(...given);
  }

  override async writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    const isUnanswered = this.unanswered > 0;
    const isDropped = this.dropped > 0;
    this.unanswered -= isUnanswered ? 1 : 0;
    this.dropped -= isDropped ? 1 : 0;
    const written = isDropped ? undefined : await this.inner.writeCAS(resource, options);
    if (isUnanswered || written === undefined) {
      await new Promise<void>((resolve) => {
        this.#open.push(resolve);
      });
    }
    return written ?? expect.unreachable();
  }

  answer(): void {
    for (const resolve of this.#open.splice(0)) resolve();
  }
}

/** A lease whose renewals the storage answers as the test says. */
async function held() {
  const clock = createManualClock();
  const storage = new LeavesOpen(createMemoryStorage());
  const leases = createLeases({ storage, owner: "one", timing: TIMING, clock });
  const lease = await leases.tryAcquire({ tenancy: HOME, name: "stack" });
  if (lease === undefined) throw new Error("the lease is not free");
  return { clock, storage, lease };
}

test("tries again while a store that lost the write owes the answer", async () => {
  const { clock, storage, lease } = await held();
  storage.dropped = 1;
  await clock.advance(TIMING.stopMs);
  expect(lease.isHeld()).toBe(true);
  await clock.advance(TIMING.stopMs);
  expect(lease.isHeld()).toBe(true);
  await lease.release();
});

test("tries again after a write that is stored and was not answered", async () => {
  const { clock, storage, lease } = await held();
  storage.unanswered = 1;
  await clock.advance(2 * TIMING.stopMs);
  expect(lease.signal.aborted).toBe(false);
  expect(lease.isHeld()).toBe(true);
  await lease.release();
});

test("reads what is stored after an answer that was lost, and no more once one has come", async () => {
  const { clock, storage, lease } = await held();
  storage.reads = 0;
  await clock.advance(2 * TIMING.renewMs);
  expect(storage.reads).toBe(0);
  storage.unanswered = 1;
  await clock.advance(5 * TIMING.renewMs);
  expect(storage.reads).toBe(1);
  await lease.release();
});

test("counts an answer that comes after it was given up, from the start of its attempt", async () => {
  const { clock, storage, lease } = await held();
  storage.unanswered = Number.POSITIVE_INFINITY;
  await clock.advance(TIMING.stopMs - 1);
  storage.answer();
  await clock.advance(TIMING.renewMs);
  expect(lease.isHeld()).toBe(true);
  await clock.advance(TIMING.stopMs);
  expect(lease.signal.reason).toMatchObject({
    code: "STORAGE_LEASE_LOST",
    message: "the lease could not be renewed in time: the store gave no answer within 2000 ms",
    details: { lost: "late" },
  });
});

test("is lost at its deadline where no attempt is answered", async () => {
  const { clock, storage, lease } = await held();
  storage.dropped = Number.POSITIVE_INFINITY;
  await clock.advance(TIMING.stopMs - 1);
  expect(lease.isHeld()).toBe(true);
  await clock.advance(1);
  expect(lease.isHeld()).toBe(false);
  expect(lease.signal.aborted).toBe(true);
});

test("releases at once while an answer is late", async () => {
  const { clock, storage, lease } = await held();
  storage.dropped = 1;
  // The first attempt has been given up, the next one has not begun.
  await clock.advance(TIMING.renewMs + 2_100);
  await lease.release();
  const leases = createLeases({ storage, owner: "two", timing: TIMING, clock });
  const next = await leases.tryAcquire({ tenancy: HOME, name: "stack" });
  expect(next?.tenure.owner).toBe("two");
  await next?.release();
});

class CountsWrites extends DelegatingStorage {
  writes = 0;

  override writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    this.writes += 1;
    return this.inner.writeCAS(resource, options);
  }
}

test("stops at once while its store is being opened, and does not write to it afterwards", async () => {
  const clock = createManualClock();
  const storage = new CountsWrites(createMemoryStorage());
  const tasks: RenewalTask[] = [];
  const renewer = {
    start: (task: RenewalTask) => {
      tasks.push(task);
      return { renewedAt: () => task.acquiredAt, stop: () => Promise.resolve() };
    },
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const leases = createLeases({ storage, owner: "one", timing: TIMING, clock, renewer });
  await leases.tryAcquire({ tenancy: HOME, name: "stack" });
  const [task] = tasks;
  if (task === undefined) throw new Error("the lease is not free");
  const opening = Promise.withResolvers<StorageBackend>();
  const lost: unknown[] = [];
  const renewal = new Renewal(task, {
    storage: () => opening.promise,
    clock,
    token: () => "token",
    onRenewed: () => undefined,
    onLost: (error) => lost.push(error),
  });
  renewal.start();
  await clock.advance(TIMING.renewMs);
  const ends: string[] = [];
  const stopped = renewal.stop().then(() => ends.push("stopped"));
  await clock.advance(TIMING.stopMs);
  expect(ends).toEqual(["stopped"]);
  const { writes } = storage;
  opening.resolve(storage);
  await stopped;
  await clock.advance(TIMING.ttlMs);
  expect(storage.writes).toBe(writes);
  expect(lost).toEqual([]);
});
