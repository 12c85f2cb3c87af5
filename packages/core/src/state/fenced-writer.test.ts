import { systemClock } from "@stackwright/base/clock";
import { StorageError } from "@stackwright/storage";
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
