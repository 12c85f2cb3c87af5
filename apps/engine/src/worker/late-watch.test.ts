import { createManualClock } from "@stackwright/base/testing";
import { storedRunPhase } from "@stackwright/core";
import { readStored } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { playPlan, startFakeWorker } from "../testing/fake-worker.ts";
import { LateWatches } from "../testing/late-watches.ts";

it("an apply may write the state, though the watch still has its run as one to plan", async () => {
  const storage = new LateWatches(createMemoryStorage());
  storage.lagMs = 400;
  const writes = new Map<string, boolean | undefined>();
  const { states, enqueue, reaches } = await startFakeWorker(
    async (step) => {
      const { job, host } = step;
      const id = idOf(SERVER_KINDS.ticket, ticketPlace({ stack: job.stack, run: job.run }));
      const found = await readStored(storage, "strong", id);
      writes.set(job.step, found && decodeRecord(SERVER_KINDS.ticket, found).claim?.writesState);
      if (job.step === "plan") return playPlan(step);
      const hold = await states.stack(job.stack).acquire();
      await host.beginApply(hold.epoch);
      const writer = await hold.begin({ run: job.run });
      const { revision } = await writer.finish({ checks: [], status: "applied" });
      await hold.release();
      return { how: "result", result: { phase: "applied", revision: revision.toString() } };
    },
    { storage, sweepMs: 60_000 },
  );
  await reaches(await enqueue(true), "applied");
  expect(Object.fromEntries(writes)).toEqual({ plan: false, apply: true });
});

it("a step whose executor is lost is tried again after pauses, though the watch is late", async () => {
  const storage = new LateWatches(createMemoryStorage());
  storage.lagMs = 400;
  const begunAt: number[] = [];
  const { enqueue, reaches } = await startFakeWorker(
    async ({ host }) => {
      begunAt.push(performance.now());
      await host.beginPlanning();
      return { how: "exit", code: 1 };
    },
    { storage, sweepMs: 60_000 },
  );
  await reaches(await enqueue(), "failed");
  const pauses = begunAt.slice(1).map((at, index) => at - (begunAt[index] ?? 0));
  expect(pauses).toHaveLength(2);
  expect(pauses[0]).toBeGreaterThanOrEqual(990);
  expect(pauses[1]).toBeGreaterThanOrEqual(1_990);
});

it.each([[[0.5]], [[0.48, 0.99]], [[0.25, 0.75]]])(
  "a run is planned within 15 s though a watch says nothing after its snapshot, random %j",
  async ([first = 0, then = first]) => {
    const clock = createManualClock();
    const storage = new LateWatches(createMemoryStorage());
    const random = (): number => (clock.monotonicMs() < 5_000 ? first : then);
    const options = { storage, clock, random, sweepMs: 10_000 };
    const { enqueue, read, reaches } = await startFakeWorker(playPlan, options);
    await clock.advance(100);
    storage.isSilent = true;
    const run = await enqueue();
    let seconds = 0;
    while (storedRunPhase((await read(run)).phase) === "queued" && seconds < 30) {
      await clock.advance(1_000);
      seconds += 1;
    }
    expect(seconds).toBeLessThanOrEqual(15);
    await reaches(run, "awaiting_approval");
  },
);
