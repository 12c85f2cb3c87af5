import { systemClock } from "@stackwright/base/clock";
import { createManualClock } from "@stackwright/base/testing";
import { type Resource, type StorageBackend, StorageError } from "@stackwright/storage";
import type { Lease } from "@stackwright/storage/lease";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { FencedWriter } from "./fenced-writer.ts";

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
