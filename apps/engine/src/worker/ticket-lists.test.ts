import { storedRunPhase } from "@stackwright/core";
import { StorageError } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { CountedLists } from "../testing/counted-lists.ts";
import { playPlan, startFakeWorker } from "../testing/fake-worker.ts";
import { overBatches } from "../testing/over-batches.ts";

/** So long that nothing of a test is found by it. */
const sweepMs = 600_000;

it("a worker that plans run after run lists the tickets of the store no more", async () => {
  const storage = new CountedLists(createMemoryStorage());
  const { fixture, enqueue, reaches } = await startFakeWorker(playPlan, { storage, sweepMs });
  await reaches(await enqueue(), "awaiting_approval");
  const before = storage.lists;
  for (const name of ["two", "three", "four"]) {
    await reaches(await enqueue(false, await fixture.stack(name), name), "awaiting_approval");
  }
  expect(storage.lists).toBe(before);
});

it("a claim whose step could not be given up as the store was away is released once it is back", {
  timeout: 60_000,
}, async () => {
  let isAway = false;
  let steps = 0;
  const storage = overBatches(createMemoryStorage(), async (_operations, write) => {
    if (!isAway) return write();
    throw new StorageError("STORAGE_INCONSISTENT", undefined, {
      details: { outcome: "not-applied" },
    });
  });
  const { enqueue, reaches } = await startFakeWorker(
    async (step) => {
      steps += 1;
      if (steps > 1) return playPlan(step);
      isAway = true;
      // Longer than one transaction tries.
      setTimeout(() => {
        isAway = false;
      }, 8_000);
      throw new Error("the executor is broken");
    },
    { storage, sweepMs, timing: { ttlMs: 60_000 } },
  );
  await reaches(await enqueue(), "awaiting_approval");
  expect(steps).toBe(2);
});

it("a ticket that cannot be claimed, as its stack is damaged, makes no lists of the store", async () => {
  const storage = new CountedLists(createMemoryStorage());
  const { fixture, reference, read, enqueue } = await startFakeWorker(playPlan, {
    storage,
    sweepMs,
  });
  await fixture.damage(STACK_HEAD_KIND, stackPlace(reference));
  const run = await enqueue();
  const before = storage.lists;
  // Each second the worker tries it again.
  await new Promise((done) => setTimeout(done, 3_500));
  expect(storedRunPhase((await read(run)).phase)).not.toBe("failed");
  expect(storage.lists - before).toBeLessThanOrEqual(1);
});
