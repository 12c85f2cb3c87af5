import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "@stackwright/base/clock";
import { createManualClock } from "@stackwright/base/testing";
import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { isStorageError, StorageError, type StorageErrorDetails } from "../errors.ts";
import type { Resource } from "../resource.ts";
import { assertCode } from "../testing/assertions.ts";
import { DelegatingStorage } from "../testing/delegate.ts";
import { A1, HOME, sample } from "../testing/samples.ts";
import type { StorageBackend, WriteOptions } from "../types.ts";
import { fenceHolderOf, fenceResourceId, HEARTBEAT_TYPE, heartbeatId } from "./lease-records.ts";
import { createLeases, type Lease } from "./leases.ts";

const NAME = { tenancy: HOME, name: "stack" };
const TIMING = { ttlMs: 9_000, renewMs: 2_000, stopMs: 6_000 };

function setUp(storage: StorageBackend = createMemoryStorage()) {
  const clock = createManualClock();
  const worker = (owner: string, over = storage) =>
    createLeases({ storage: over, owner, timing: TIMING, clock });
  return { storage, clock, worker };
}

async function hold(lease: Promise<Lease | undefined>): Promise<Lease> {
  const held = await lease;
  if (held === undefined) throw new Error("the lease is not free");
  return held;
}

describe("a lease", () => {
  test("has one holder, and goes to the next when it is released", async () => {
    const { storage, worker } = setUp();
    const first = await hold(worker("one").tryAcquire(NAME));
    expect(first.tenure).toEqual({ owner: "one", epoch: 1n });
    expect(first.isHeld()).toBe(true);
    expect(await worker("two").tryAcquire(NAME)).toBeUndefined();
    await first.release();
    expect(first.isHeld()).toBe(false);
    expect(first.signal.aborted).toBe(false);
    const second = await hold(worker("two").tryAcquire(NAME));
    expect(second.tenure).toEqual({ owner: "two", epoch: 2n });
    await second.release();
    expect(fenceHolderOf(await storage.read("strong", fenceResourceId(NAME)))).toEqual({
      owner: "",
      epoch: 2n,
    });
  });

  test("is released where another one was made in its place", async () => {
    const { storage, worker } = setUp();
    const first = await hold(worker("one").tryAcquire(NAME));
    const { id, version } = await storage.read("strong", fenceResourceId(NAME));
    await storage.deleteCAS(id, version);
    const heartbeat = await storage.read("strong", heartbeatId(NAME));
    await storage.deleteCAS(heartbeat.id, heartbeat.version);
    const second = await hold(worker("two").tryAcquire(NAME));
    await first.release();
    expect(fenceHolderOf(await storage.read("strong", fenceResourceId(NAME)))).toEqual(
      second.tenure,
    );
    await second.release();
  });

  test("lets one of several win", async () => {
    const { worker } = setUp();
    const takers = ["a", "b", "c", "d"].map((owner) => worker(owner).tryAcquire(NAME));
    const winners = (await Promise.all(takers)).filter((lease) => lease !== undefined);
    expect(winners).toHaveLength(1);
  });

  test("is renewed by its heartbeat, while its fence keeps its version", async () => {
    const { storage, clock, worker } = setUp();
    const lease = await hold(worker("one").tryAcquire(NAME));
    const versions = new Set<string>();
    for (let count = 0; count < 20; count += 1) {
      await clock.advance(TIMING.renewMs);
      versions.add((await storage.read("strong", heartbeatId(NAME))).version);
      expect((await storage.read("strong", fenceResourceId(NAME))).version).toBe(
        lease.guard.version,
      );
      expect(lease.isHeld()).toBe(true);
    }
    expect(versions.size).toBe(20);
  });

  test("is not stolen from a holder that renews, however long the thief waits", async () => {
    const { clock, worker } = setUp();
    const lease = await hold(worker("one").tryAcquire(NAME));
    const stop = new AbortController();
    const stealing = worker("two").acquire(NAME, { signal: stop.signal });
    const outcome = stealing.catch((error: unknown) => error);
    await clock.advance(TIMING.ttlMs * 10);
    expect(lease.isHeld()).toBe(true);
    stop.abort(new Error("enough"));
    expect(await outcome).toEqual(new Error("enough"));
  });

  test("is stolen after the whole time to live without a sign of life, not before", async () => {
    const { clock, worker } = setUp();
    const cut = new Partition(createMemoryStorage());
    const lease = await hold(worker("one", cut).tryAcquire(NAME));
    cut.open = false;
    const stealing = worker("two", cut.inner).acquire(NAME);
    let stolen: Lease | undefined;
    void stealing.then((taken) => (stolen = taken));
    await clock.advance(TIMING.stopMs - 1);
    expect(lease.isHeld()).toBe(true);
    await clock.advance(1);
    // The holder stops itself, well before the thief may act.
    expect(lease.isHeld()).toBe(false);
    expect(lease.signal.reason).toMatchObject({ code: "STORAGE_LEASE_LOST" });
    expect(stolen).toBeUndefined();
    await clock.advance(TIMING.ttlMs - TIMING.stopMs - 1);
    expect(stolen).toBeUndefined();
    await clock.advance(TIMING.ttlMs);
    expect(stolen?.tenure).toEqual({ owner: "two", epoch: 2n });
    await stolen?.release();
  });

  test("is lost at once when the next renewal finds another holder", async () => {
    const { storage, clock, worker } = setUp();
    const lease = await hold(worker("one").tryAcquire(NAME));
    const fence = await storage.read("strong", fenceResourceId(NAME));
    await storage.writeCAS(fence);
    await clock.advance(TIMING.renewMs);
    expect(lease.signal.reason).toMatchObject({ code: "STORAGE_LEASE_LOST" });
    await lease.release();
    expect((await storage.read("strong", fenceResourceId(NAME))).version).not.toBe(fence.version);
  });

  test.each([
    ["STORAGE_GUARD_FAILED", "another worker took the lease", "taken"],
    ["STORAGE_SCHEMA", "the lease could not be renewed: the reason", "refused"],
  ] as const)("is lost at once, and says why: %s", async (code, message, lost) => {
    const { clock, storage, worker } = setUp();
    const refusing = new RefusesWrites(storage, code);
    const lease = await hold(worker("one", refusing).tryAcquire(NAME));
    await clock.advance(TIMING.renewMs);
    const details = { lost };
    expect(lease.signal.reason).toMatchObject({ code: "STORAGE_LEASE_LOST", message, details });
  });

  test("is lost at once where the token of its holder has ended", async () => {
    const { clock, storage, worker } = setUp();
    const refusing = new RefusesWrites(storage, "STORAGE_PERMISSION_DENIED", { field: "token" });
    const lease = await hold(worker("one", refusing).tryAcquire(NAME));
    await clock.advance(TIMING.renewMs);
    expect(lease.isHeld()).toBe(false);
    expect(lease.signal.reason).toMatchObject({
      message: "the lease could not be renewed: the reason",
      details: { lost: "refused" },
    });
  });

  test.each(["STORAGE_PERMISSION_DENIED", "STORAGE_INCONSISTENT"] as const)(
    "is kept where %s passes before the deadline, and says why where it does not",
    async (code) => {
      const { clock, storage, worker } = setUp();
      const refusing = new RefusesWrites(storage, code);
      const lease = await hold(worker("one", refusing).tryAcquire(NAME));
      await clock.advance(TIMING.stopMs - 1_000);
      expect(lease.isHeld()).toBe(true);
      refusing.code = undefined;
      await clock.advance(999);
      await clock.advance(TIMING.renewMs);
      expect(lease.isHeld()).toBe(true);
      refusing.code = code;
      await clock.advance(TIMING.stopMs);
      expect(lease.signal.reason).toMatchObject({
        code: "STORAGE_LEASE_LOST",
        message: "the lease could not be renewed in time: the reason",
        cause: { code },
        details: { lost: "late" },
      });
    },
  );

  test("knows after a pause of the process that its time is over, before any timer runs", async () => {
    const { clock, worker } = setUp();
    const lease = await hold(worker("one").tryAcquire(NAME));
    clock.skip(TIMING.stopMs);
    expect(lease.signal.aborted).toBe(false);
    expect(lease.isHeld()).toBe(false);
  });

  test("counts from before the requests that took and renewed it, however late their answers are", async () => {
    const { clock, storage, worker } = setUp();
    const late = new AnswersLate(storage, (ms) => clock.skip(ms));
    late.byMs = TIMING.stopMs - 1;
    const lease = await hold(worker("one", late).tryAcquire(NAME));
    // A thief may have seen the fence as soon as it was written.
    expect(lease.isHeld()).toBe(true);
    clock.skip(1);
    expect(lease.isHeld()).toBe(false);
    await lease.release();

    late.byMs = 0;
    const renewed = await hold(worker("one", late).tryAcquire(NAME));
    late.byMs = TIMING.stopMs - 1;
    await clock.advance(TIMING.renewMs);
    late.byMs = 0;
    expect(renewed.isHeld()).toBe(true);
    clock.skip(1);
    expect(renewed.isHeld()).toBe(false);
    await renewed.release();
  });

  test("survives short outages and renewals whose answer was lost", async () => {
    const { clock, worker } = setUp();
    const flaky = new LosesAnswers(createMemoryStorage());
    const lease = await hold(worker("one", flaky).tryAcquire(NAME));
    for (let round = 0; round < 20; round += 1) {
      flaky.losing = round % 2 === 0;
      await clock.advance(TIMING.renewMs);
      expect(lease.isHeld()).toBe(true);
    }
    expect(flaky.lost).toBeGreaterThan(5);
    flaky.losing = false;
    await lease.release();
  });

  test("is recognised as taken when the answer to the acquisition was lost", async () => {
    const { worker } = setUp();
    const flaky = new LosesAnswers(createMemoryStorage());
    flaky.losing = true;
    const lease = await hold(worker("one", flaky).tryAcquire(NAME));
    expect(lease.tenure.epoch).toBe(1n);
    flaky.losing = false;
    await lease.release();
  });

  test("is not taken to be held where the acquisition was lost on its way", async () => {
    const { storage, worker } = setUp();
    // Fence and heartbeat of another tenure are stored.
    await (await hold(worker("two").tryAcquire(NAME))).release();
    const flaky = new LosesBatches(storage);
    await assertCode(worker("one", flaky).tryAcquire(NAME), "STORAGE_INCONSISTENT");
    const lease = await hold(worker("one").tryAcquire(NAME));
    expect(lease.tenure).toEqual({ owner: "one", epoch: 2n });
    await lease.release();
  });

  test("refuses timings in which a thief could be earlier than its victim", () => {
    const { storage } = setUp();
    for (const timing of [
      { ttlMs: 10, stopMs: 10 },
      { ttlMs: 10, renewMs: 8, stopMs: 5 },
      { ttlMs: 10, renewMs: 5, stopMs: 5 },
      { ttlMs: 0 },
      { renewMs: 0 },
    ]) {
      expect(() => createLeases({ storage, owner: "one", timing })).toThrow(StorageError);
    }
  });

  test("needs one guard and a batch of two from its engine, and no more", () => {
    const { storage } = setUp();
    const over = (guards: number, batch: number) =>
      createLeases({
        storage: new (class extends DelegatingStorage {
          override get capabilities() {
            return { ...storage.capabilities, guards, batch };
          }
        })(storage),
        owner: "one",
      });
    expect(() => over(1, 2)).not.toThrow();
    for (const [guards, batch] of [
      [0, 2],
      [1, 1],
    ] as const) {
      expect(() => over(guards, batch)).toThrow(
        expect.objectContaining({ code: "STORAGE_UNSUPPORTED" }),
      );
    }
  });
});

describe("taking a lease", () => {
  test("goes on while the store is away, and ends with any other error", async () => {
    const { clock, worker } = setUp();
    const away = new FailsReads(createMemoryStorage());
    away.code = "STORAGE_INCONSISTENT";
    const waiting = worker("one", away).acquire(NAME);
    await clock.advance(TIMING.ttlMs);
    away.code = undefined;
    await clock.advance(TIMING.ttlMs);
    const lease = await waiting;
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    away.code = "STORAGE_PERMISSION_DENIED";
    await assertCode(worker("two", away).acquire(NAME), "STORAGE_PERMISSION_DENIED");
  });

  test("keeps what a signal that never aborts asked for, and gives back what one that did asked for", async () => {
    const { storage, worker } = setUp();
    const calm = new AbortController();
    const lease = await hold(worker("one").tryAcquire(NAME, { signal: calm.signal }));
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    // It aborts while the answer is on its way.
    const stop = new AbortController();
    const late = new AbortsAtBatch(storage, stop);
    const taken = worker("two", late).tryAcquire(NAME, { signal: stop.signal });
    await expect(taken).rejects.toThrow("enough");
    expect(fenceHolderOf(await storage.read("strong", fenceResourceId(NAME)))).toEqual({
      owner: "",
      epoch: 2n,
    });
  });

  test("refuses a fence that is stored as something else", async () => {
    const { storage, worker } = setUp();
    const lease = await hold(worker("one").tryAcquire(NAME));
    await lease.release();
    const fence = await storage.read("strong", fenceResourceId(NAME));
    const data = { typeUrl: "type.googleapis.com/other", value: new Uint8Array() };
    await storage.writeCAS({ ...fence, data });
    await assertCode(worker("two").tryAcquire(NAME), "STORAGE_CORRUPT");
  });

  test("is given back by the end of its scope, before the next line", async () => {
    const { worker } = setUp();
    {
      await using lease = await worker("one").acquire(NAME);
      expect(lease.isHeld()).toBe(true);
    }
    const next = await hold(worker("two").tryAcquire(NAME));
    await next.release();
  });

  test("by a renewer on this thread costs nothing once it is lost", async () => {
    const { storage, clock, worker } = setUp();
    const lease = await hold(worker("one").tryAcquire(NAME));
    await storage.writeCAS(await storage.read("strong", fenceResourceId(NAME)));
    await clock.advance(TIMING.renewMs);
    expect(lease.signal.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });
});

describe("writes under the guard of a lease", () => {
  test("never fail because of renewals", async () => {
    const storage = new CountsHeartbeats(createMemoryStorage());
    const leases = createLeases({
      storage,
      owner: "one",
      timing: { ttlMs: 10_000, renewMs: 1, stopMs: 5_000 },
    });
    await using lease = await leases.acquire(NAME);
    const guards = [lease.guard];
    let stored = await storage.writeCAS(sample(A1, HOME, "object"), { guards });
    for (let count = 1; count < 10_000 || storage.heartbeats < 50; count += 1) {
      stored = await storage.writeCAS(stored, { guards });
      if (count % 100 === 0) await delay(1);
    }
    expect(lease.signal.aborted).toBe(false);
  });

  test("fail from the moment of a steal on, also those in flight", async () => {
    const slow = new SlowWrites(createMemoryStorage());
    const { clock, worker } = setUp();
    const victim = await hold(worker("one", slow).tryAcquire(NAME));
    const write = (name: string): Promise<Resource> =>
      slow.writeCAS(sample(A1, HOME, name), { guards: [victim.guard] });
    await write("early");
    slow.holding = true;
    const flight = Promise.allSettled(Array.from({ length: 50 }, (_, index) => write(`f${index}`)));
    const stealing = worker("two", slow.inner).acquire(NAME);
    await clock.advance(TIMING.ttlMs * 2);
    const thief = await stealing;
    slow.release();
    for (const outcome of await flight) {
      expect(outcome).toMatchObject({ reason: { code: "STORAGE_GUARD_FAILED" } });
    }
    await assertCode(write("late"), "STORAGE_GUARD_FAILED");
    await slow.writeCAS(sample(A1, HOME, "thief"), { guards: [thief.guard] });
    const names = (await slow.list("strong", A1, HOME, "")).map((found) => found.id.name);
    expect(names).toEqual(["early", "thief"]);
    await thief.release();
  });
});

describe("the system clock", () => {
  test("measures on a clock that all threads of the process share", () => {
    const clock = systemClock;
    const now = Number(process.hrtime.bigint()) / 1e6;
    expect(Math.abs(clock.monotonicMs() - now)).toBeLessThan(1_000);
  });
});

class CountsHeartbeats extends DelegatingStorage {
  heartbeats = 0;

  override writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    if (resource.id.type.kind === HEARTBEAT_TYPE.kind) this.heartbeats += 1;
    return this.inner.writeCAS(resource, options);
  }
}

/** A store whose reads fail while it has a code. */
class FailsReads extends DelegatingStorage {
  code: ConstructorParameters<typeof StorageError>[0] | undefined;

  override async read(...given: Parameters<StorageBackend["read"]>): Promise<Resource> {
    if (this.code !== undefined) throw new StorageError(this.code);
    return this.inner.read(...given);
  }
}

/** A store whose single writes fail while it has a code. */
class RefusesWrites extends DelegatingStorage {
  code: ConstructorParameters<typeof StorageError>[0] | undefined;
  readonly #details: StorageErrorDetails;

  constructor(
    inner: StorageBackend,
    code: RefusesWrites["code"],
    details: StorageErrorDetails = {},
  ) {
    super(inner);
    this.code = code;
    this.#details = details;
  }

  override async writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    if (this.code !== undefined) {
      throw new StorageError(this.code, "the reason", { details: this.#details });
    }
    return this.inner.writeCAS(resource, options);
  }
}

/** A store during whose batches somebody gives up. */
class AbortsAtBatch extends DelegatingStorage {
  readonly #stop: AbortController;

  constructor(inner: StorageBackend, stop: AbortController) {
    super(inner);
    this.#stop = stop;
  }

  override async batch(
    ...given: Parameters<StorageBackend["batch"]>
  ): Promise<readonly (Resource | undefined)[]> {
    const results = await this.inner.batch(...given);
    this.#stop.abort(new Error("enough"));
    return results;
  }
}

/** A store that has done what it is asked for long before its answers arrive. */
class AnswersLate extends DelegatingStorage {
  byMs = 0;
  readonly #pass: (ms: number) => void;

  constructor(inner: StorageBackend, pass: (ms: number) => void) {
    super(inner);
    this.#pass = pass;
  }

  override async batch(
    ...given: Parameters<StorageBackend["batch"]>
  ): Promise<readonly (Resource | undefined)[]> {
    const results = await this.inner.batch(...given);
    this.#pass(this.byMs);
    return results;
  }

  override async writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    const written = await this.inner.writeCAS(resource, options);
    this.#pass(this.byMs);
    return written;
  }
}

/** A store that cannot be reached while it is not open. */
class Partition extends DelegatingStorage {
  open = true;

  override async writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    if (!this.open) throw new StorageError("STORAGE_INCONSISTENT");
    return this.inner.writeCAS(resource, options);
  }
}

/** A store that does what it is told and whose answers get lost. */
class LosesAnswers extends DelegatingStorage {
  losing = false;
  lost = 0;

  override async writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    const stored = await this.inner.writeCAS(resource, options);
    this.#lose();
    return stored;
  }

  override async batch(
    ...args: Parameters<StorageBackend["batch"]>
  ): Promise<readonly (Resource | undefined)[]> {
    const results = await this.inner.batch(...args);
    this.#lose();
    return results;
  }

  #lose(): void {
    if (!this.losing) return;
    this.lost += 1;
    if (this.lost % 2 === 0) return;
    throw new StorageError("STORAGE_INCONSISTENT", undefined, { details: { outcome: "unknown" } });
  }
}

/** A store to which batches are lost on their way. */
class LosesBatches extends DelegatingStorage {
  override async batch(): Promise<readonly (Resource | undefined)[]> {
    throw new StorageError("STORAGE_INCONSISTENT", undefined, { details: { outcome: "unknown" } });
  }
}

/** A store that holds writes back until they are released. */
class SlowWrites extends DelegatingStorage {
  holding = false;
  #held: (() => void)[] = [];

  release(): void {
    this.holding = false;
    for (const resume of this.#held.splice(0)) resume();
  }

  override async writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    if (this.holding) {
      await new Promise<void>((resolve) => {
        this.#held.push(resolve);
      });
    }
    return this.inner.writeCAS(resource, options).catch((error: unknown) => {
      expect(isStorageError(error)).toBe(true);
      throw error;
    });
  }
}
