import { createManualClock } from "@stackwright/base/testing";
import { storedRunPhase } from "@stackwright/core";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { cancelRun } from "../queue/cancel.ts";
import { approveRun } from "../queue/decide.ts";
import { playPlan, startFakeWorker } from "../testing/fake-worker.ts";
import { silentWatches } from "../testing/silent-watches.ts";

// The clock stands still but for the 15 s in which everything has to be found. What is not the clock's, such as files, has its own time.

const SWEEP_MS = 10_000;
const WITHIN_MS = 15_000;

it("a run is planned, and applied once it is approved, within 15 s though no watch says so", async () => {
  const clock = createManualClock();
  const storage = silentWatches(createMemoryStorage());
  const { parts, states, enqueue, read, reaches } = await startFakeWorker(
    async (step) => {
      if (step.job.step === "plan") return playPlan(step);
      const hold = await states.stack(step.job.stack).acquire();
      await step.host.beginApply(hold.epoch);
      const writer = await hold.begin({ run: step.job.run });
      const { revision } = await writer.finish({ checks: [], status: "applied" });
      await hold.release();
      return { how: "result", result: { phase: "applied", revision: revision.toString() } };
    },
    { storage, clock, sweepMs: SWEEP_MS },
  );
  await clock.advance(1_000);
  const run = await enqueue();
  await clock.advance(1_000);
  expect(storedRunPhase((await read(run)).phase)).toBe("queued");
  await clock.advance(WITHIN_MS - 1_000);
  const { planDigest } = await reaches(run, "awaiting_approval");
  await approveRun(parts, run, { actor: "bea", planDigest });
  await clock.advance(WITHIN_MS);
  await reaches(run, "applied");
});

it("a cancel reaches the step of a run within 15 s though no watch says so", async () => {
  const clock = createManualClock();
  const storage = silentWatches(createMemoryStorage());
  const { parts, enqueue, reaches } = await startFakeWorker(
    async ({ host, stopped }) => {
      await host.beginPlanning();
      await stopped;
      return { how: "result", result: { phase: "canceled", reason: "canceled" } };
    },
    { storage, clock, sweepMs: SWEEP_MS },
  );
  const run = await enqueue();
  await clock.advance(WITHIN_MS);
  await reaches(run, "planning");
  await cancelRun(parts, run, { actor: "ann" });
  await clock.advance(WITHIN_MS);
  expect(await reaches(run, "canceled")).toMatchObject({ reason: "canceled by ann" });
});
