import { systemClock } from "@stackwright/base/clock";
import { createManualClock } from "@stackwright/base/testing";
import { type Resource, type StorageBackend, StorageError } from "@stackwright/storage";
import type { Lease } from "@stackwright/storage/lease";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { TEST_STACK } from "../testing/state-fixture.ts";
import { FencedWriter } from "./fenced-writer.ts";
import { STATE_KINDS, stackTenancy } from "./kinds.ts";

function writerUnder(signal: AbortSignal): FencedWriter {
  const lease: Pick<Lease, "signal" | "isHeld"> = { signal, isHeld: () => false };
  return new FencedWriter(createMemoryStorage(), lease as Lease, systemClock);
}

it("says that the lease was not renewed where the clock knows it first", async () => {
  const writer = writerUnder(new AbortController().signal);
  await expect(writer.write([])).rejects.toMatchObject({
    code: "ENGINE_FENCE_LOST",
    message: expect.stringContaining("the lease could not be renewed in time"),
  });
  expect(writer.signal.aborted).toBe(true);
});

it("says how the lease was lost where the lease knows it", async () => {
  const lost = new StorageError("STORAGE_LEASE_LOST", "another worker has it");
  await expect(writerUnder(AbortSignal.abort(lost)).write([])).rejects.toMatchObject({
    code: "ENGINE_FENCE_LOST",
    message: expect.stringContaining("another worker has it"),
  });
});

it("says why the store refused to write until then, as where its disk is full", async () => {
  let isHeld = true;
  const over = new AbortController();
  const lease: Pick<Lease, "signal" | "isHeld" | "guard"> = {
    signal: over.signal,
    isHeld: () => isHeld,
    guard: { id: { kind: "lease", name: "one" }, version: "1" } as unknown as Lease["guard"],
  };
  const refusal = new StorageError("STORAGE_INCONSISTENT", "the disk is full", {
    details: { outcome: "not-applied" },
  });
  const storage = {
    ...createMemoryStorage(),
    writeCAS: async () => {
      isHeld = false;
      // By its code, whatever it says.
      over.abort(new StorageError("STORAGE_LEASE_LOST", "too late", { details: { lost: "late" } }));
      throw refusal;
    },
  };
  const writer = new FencedWriter(storage, lease as Lease, systemClock);
  const resource = { id: { kind: "x", name: "one" } } as unknown as Resource;
  await expect(writer.write([{ kind: "write", resource }])).rejects.toMatchObject({
    code: "ENGINE_FENCE_LOST",
    message: expect.stringContaining("could not be renewed in time: the disk is full"),
  });
});

/** A writer under a lease that is renewed, whose store refuses by rights as often as is said. */
function refusedWriter(refusals: number) {
  const clock = createManualClock();
  const lease: Pick<Lease, "signal" | "isHeld" | "guard"> = {
    signal: new AbortController().signal,
    isHeld: () => true,
    guard: { id: { kind: "lease", name: "one" }, version: "1" } as unknown as Lease["guard"],
  };
  let left = refusals;
  const refuse = (): void => {
    left -= 1;
    if (left >= 0) throw new StorageError("STORAGE_PERMISSION_DENIED", "the password is another");
  };
  const storage: StorageBackend = {
    ...createMemoryStorage(),
    read: async () => {
      refuse();
      throw new StorageError("STORAGE_NOT_FOUND", "nothing is stored");
    },
    writeCAS: async (resource) => {
      refuse();
      return { ...resource, version: "1" };
    },
  };
  const resource = { id: { kind: "x", name: "one" }, version: "", generation: "g" };
  const writer = new FencedWriter(storage, lease as Lease, clock);
  const writing = writer.write([{ kind: "write", resource: resource as unknown as Resource }]);
  return { clock, writer, writing };
}

it("writes where the store refuses by rights for a while, as a password is changed", async () => {
  // The write is refused, then the read of what is stored, then the write again.
  const { clock, writer, writing } = refusedWriter(3);
  await clock.advance(1_000);
  await expect(writing).resolves.toMatchObject([{ version: "1" }]);
  expect(writer.signal.aborted).toBe(false);
});

it("gives up where the store refuses for longer, though the lease is renewed", async () => {
  const { clock, writing } = refusedWriter(Number.POSITIVE_INFINITY);
  const refused = expect(writing).rejects.toMatchObject({ code: "STORAGE_PERMISSION_DENIED" });
  await clock.advance(60_000);
  await refused;
});

const TENANCY = stackTenancy(TEST_STACK);

/** A resource to be written for the first time, or over another one. */
function resource(name: string, generation: string, stored?: Resource): Resource {
  const id = { uid: stored?.id.uid ?? generation, name, type: STATE_KINDS.head, tenancy: TENANCY };
  return {
    id,
    version: stored?.version ?? "",
    generation,
    metadata: {},
    status: {},
    data: { typeUrl: "t", value: new Uint8Array() },
  };
}

/** What becomes of a call: it is lost on its way, its answer is lost, or it is done before the next one. */
type Fault = "lost" | "unanswered" | "late" | "refused" | StorageError;

const away = (outcome: "unknown" | "not-applied") =>
  new StorageError("STORAGE_INCONSISTENT", "the store is away", { details: { outcome } });

/** A writer under a lease that is held, over a store whose writes and reads fail as is said. */
async function underLease() {
  const storage = createMemoryStorage();
  const clock = createManualClock();
  const fence = await storage.writeCAS(resource("fence", "F"));
  const over = new AbortController();
  const held = { is: true };
  const lease = {
    signal: over.signal,
    isHeld: () => held.is,
    guard: { id: fence.id, version: fence.version },
  } as Pick<Lease, "signal" | "isHeld" | "guard">;
  const faults: { writes: Fault[]; reads: Fault[] } = { writes: [], reads: [] };
  const attempts: number[] = [];
  const counts = { reads: 0 };
  const late: (() => Promise<unknown>)[] = [];
  const faulty = new Proxy(storage, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const isWrite = name === "writeCAS" || name === "deleteCAS" || name === "batch";
      return async (...args: unknown[]): Promise<unknown> => {
        const call = async (): Promise<unknown> => Reflect.apply(member, target, args) as unknown;
        if (isWrite) attempts.push(clock.monotonicMs());
        else counts.reads += 1;
        for (const earlier of late.splice(0)) if (isWrite) await earlier();
        const fault = (isWrite ? faults.writes : faults.reads).shift();
        if (fault === undefined) return call();
        if (fault === "unanswered") await call();
        if (fault === "late") late.push(call);
        if (fault === "refused") throw away("not-applied");
        throw typeof fault === "string" ? away("unknown") : fault;
      };
    },
  });
  const writer = new FencedWriter(faulty, lease as Lease, clock);
  return { storage, clock, fence, over, held, faults, attempts, counts, writer };
}

/** The outcome of a write, however often it is tried. */
async function ended<T>(
  clock: ReturnType<typeof createManualClock>,
  writing: Promise<T>,
): Promise<T> {
  const settled = writing.catch(() => undefined);
  await clock.advance(5_000);
  await settled;
  return writing;
}

it("finds a write whose answer was lost, and does not write it again", async () => {
  const { writer, clock, faults, attempts, storage } = await underLease();
  faults.writes.push("unanswered");
  const [written] = await ended(
    clock,
    writer.write([{ kind: "write", resource: resource("a", "A1") }]),
  );
  expect(attempts).toHaveLength(1);
  expect(written).toEqual(await storage.read("strong", resource("a", "A1").id));
});

it("finds a batch whose answer was lost, with nothing for what it deleted", async () => {
  const { writer, clock, faults, attempts, storage } = await underLease();
  const gone = await storage.writeCAS(resource("gone", "G"));
  faults.writes.push("unanswered");
  const batch = writer.write([
    { kind: "write", resource: resource("a", "A1") },
    { kind: "delete", id: gone.id, version: gone.version },
    { kind: "write", resource: resource("b", "A1") },
  ]);
  const stored = await ended(clock, batch);
  expect(stored.map((one) => one?.id.name)).toEqual(["a", undefined, "b"]);
  expect(attempts).toHaveLength(1);
});

it("reads again what a batch has stored where the store is away meanwhile", async () => {
  const { writer, clock, faults } = await underLease();
  faults.writes.push("unanswered");
  const writing = writer.write([{ kind: "write", resource: resource("a", "A1") }]);
  // The first read finds the write, the second is for its result.
  faults.reads.push("lost", "lost");
  const [written] = await ended(clock, writing);
  expect(written?.generation).toBe("A1");
});

it("writes again what was lost on its way", async () => {
  const { writer, clock, faults, attempts } = await underLease();
  faults.writes.push("lost", "lost");
  const [written] = await ended(
    clock,
    writer.write([{ kind: "write", resource: resource("a", "A1") }]),
  );
  expect(written?.generation).toBe("A1");
  expect(attempts).toHaveLength(3);
});

it("finds a write that arrives after it was given up, and does not take it for another's", async () => {
  const { writer, clock, faults, storage } = await underLease();
  const first = await storage.writeCAS(resource("a", "A0"));
  faults.writes.push("late");
  const [written] = await ended(
    clock,
    writer.write([{ kind: "write", resource: resource("a", "A1", first) }]),
  );
  expect(written?.generation).toBe("A1");
  expect(writer.signal.aborted).toBe(false);
});

it.each(["lost", "unanswered"] as const)(
  "deletes once where the first attempt was %s",
  async (fault) => {
    const { writer, clock, faults, storage } = await underLease();
    const gone = await storage.writeCAS(resource("gone", "G"));
    faults.writes.push(fault);
    const { id, version } = gone;
    expect(await ended(clock, writer.write([{ kind: "delete", id, version }]))).toEqual([
      undefined,
    ]);
    await expect(storage.read("strong", id)).rejects.toMatchObject({ code: "STORAGE_NOT_FOUND" });
  },
);

it("does not look for a write that the store has certainly not made", async () => {
  const { writer, clock, faults, counts } = await underLease();
  faults.writes.push("refused");
  await ended(clock, writer.write([{ kind: "write", resource: resource("a", "A1") }]));
  expect(counts.reads).toBe(0);
});

it("waits longer with every attempt, a second at most", async () => {
  const { writer, clock, faults, attempts } = await underLease();
  faults.writes.push(...Array.from({ length: 8 }, (): Fault => "refused"));
  await ended(clock, writer.write([{ kind: "write", resource: resource("a", "A1") }]));
  expect(attempts).toEqual([0, 20, 60, 140, 300, 620, 1_260, 2_260, 3_260]);
});

it("says that another process wrote without the fence, and writes nothing more", async () => {
  const { writer, clock, storage, attempts } = await underLease();
  const stale = resource("a", "A1");
  await storage.writeCAS(resource("a", "X"));
  const intruded = {
    code: "ENGINE_STATE_CORRUPT",
    message: expect.stringContaining("found on b, a") as string,
  };
  const batch = [
    { kind: "write", resource: resource("b", "A1") },
    { kind: "write", resource: stale },
  ] as const;
  await expect(ended(clock, writer.write(batch))).rejects.toMatchObject(intruded);
  expect(attempts).toHaveLength(1);
  expect(writer.signal.aborted).toBe(true);
  const next = writer.write([{ kind: "write", resource: resource("c", "A2") }]);
  await expect(ended(clock, next)).rejects.toMatchObject(intruded);
  expect(attempts).toHaveLength(1);
});

it.each([
  ["the next holder of the lease", true, "ENGINE_FENCE_LOST"],
  ["a process without the lease", false, "ENGINE_STATE_CORRUPT"],
] as const)("knows a write of %s after an answer was lost", async (_who, isMoved, code) => {
  const { writer, clock, faults, storage, fence } = await underLease();
  const first = await storage.writeCAS(resource("a", "A0"));
  faults.writes.push("lost");
  if (isMoved) await storage.writeCAS({ ...fence, generation: "F2" });
  await storage.writeCAS({ ...first, generation: "X" });
  const writing = writer.write([{ kind: "write", resource: resource("a", "A1", first) }]);
  await expect(ended(clock, writing)).rejects.toMatchObject({ code });
  expect(writer.signal.aborted).toBe(true);
});

it("knows that a resource was written by another where its delete was not answered", async () => {
  const { writer, clock, faults, storage } = await underLease();
  const { id, version, ...rest } = await storage.writeCAS(resource("a", "A0"));
  faults.writes.push("lost");
  await storage.writeCAS({ ...rest, id, version, generation: "X" });
  await expect(ended(clock, writer.write([{ kind: "delete", id, version }]))).rejects.toMatchObject(
    {
      code: "ENGINE_STATE_CORRUPT",
      message: expect.stringContaining("found on a") as string,
    },
  );
});

it("writes nothing under a fence that has moved", async () => {
  const { writer, clock, storage, fence } = await underLease();
  await storage.writeCAS({ ...fence, generation: "F2" });
  const late = resource("a", "A1");
  await expect(
    ended(clock, writer.write([{ kind: "write", resource: late }])),
  ).rejects.toMatchObject({
    code: "ENGINE_FENCE_LOST",
  });
  await expect(storage.read("strong", late.id)).rejects.toMatchObject({
    code: "STORAGE_NOT_FOUND",
  });
  expect(writer.signal.aborted).toBe(true);
});

it("passes another refusal on and can write afterwards", async () => {
  const { writer, clock, faults, attempts } = await underLease();
  faults.writes.push(new StorageError("STORAGE_TOO_LARGE"));
  const write = async () =>
    ended(clock, writer.write([{ kind: "write", resource: resource("a", "A1") }]));
  await expect(write()).rejects.toMatchObject({ code: "STORAGE_TOO_LARGE" });
  expect(attempts).toHaveLength(1);
  expect(await write()).toHaveLength(1);
});

it("passes on that the store cannot say what became of a write", async () => {
  const { writer, clock, faults } = await underLease();
  faults.writes.push("unanswered");
  faults.reads.push(new StorageError("STORAGE_CORRUPT"));
  const writing = writer.write([{ kind: "write", resource: resource("a", "A1") }]);
  await expect(ended(clock, writing)).rejects.toMatchObject({ code: "STORAGE_CORRUPT" });
});

it("stops waiting for the store when the lease ends", async () => {
  const { writer, clock, faults, attempts, held, over } = await underLease();
  faults.writes.push(...Array.from({ length: 20 }, (): Fault => "lost"));
  const writing = writer.write([{ kind: "write", resource: resource("a", "A1") }]);
  const lost = expect(writing).rejects.toMatchObject({ code: "ENGINE_FENCE_LOST" });
  await clock.advance(100);
  const tried = attempts.length;
  held.is = false;
  over.abort(new StorageError("STORAGE_LEASE_LOST", "another worker has it"));
  await lost;
  await clock.advance(5_000);
  expect(attempts).toHaveLength(tried);
});

it("asks the store for nothing where there is nothing to write", async () => {
  const { writer, clock, attempts } = await underLease();
  expect(await ended(clock, writer.write([]))).toEqual([]);
  expect(attempts).toEqual([]);
});

it("does not take a lost answer for the reason why the lease was not renewed", async () => {
  const { writer, clock, faults, held } = await underLease();
  faults.writes.push(...Array.from({ length: 20 }, (): Fault => "lost"));
  const writing = writer.write([{ kind: "write", resource: resource("a", "A1") }]);
  const lost = expect(writing).rejects.toMatchObject({
    code: "ENGINE_FENCE_LOST",
    message: "the right to write to the stack was lost: the lease could not be renewed in time",
  });
  await clock.advance(100);
  held.is = false;
  await clock.advance(1_000);
  await lost;
});
