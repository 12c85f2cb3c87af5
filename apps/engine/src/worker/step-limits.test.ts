import { createManualClock } from "@stackwright/base/testing";
import { expect, it } from "vitest";
import type { Execution } from "../executor/executor.ts";
import { cancelRun } from "../queue/cancel.ts";
import { approveRun } from "../queue/decide.ts";
import { playPlan, startFakeWorker } from "../testing/fake-worker.ts";
import { StepDeadline, type StepLimits } from "./step-deadline.ts";

it("a plan that takes too long is asked to stop, then ended, and not made again", async () => {
  const stages: number[] = [];
  const { enqueue, reaches, jobs } = await startFakeWorker(
    async ({ host, stops }) => {
      await host.beginPlanning();
      for await (const stage of stops) {
        stages.push(stage);
        if (stage === 2) break;
      }
      return { how: "signal", signal: "SIGKILL" };
    },
    { limits: { planMs: 50, stopMs: 60 } },
  );
  const failed = await reaches(await enqueue(), "failed");
  expect(failed).toMatchObject({ reasonCode: "deadline", reason: "the step took longer than 0 s" });
  expect(stages).toEqual([1, 2]);
  expect(jobs).toHaveLength(1);
});

it("a plan beside that of a tool has a limit of its own, within that of plans", async () => {
  const clock = createManualClock();
  const stages = async (limits: StepLimits, afterMs: number) => {
    const stopped: number[] = [];
    const execution: Execution = {
      stop: (stage) => void stopped.push(stage),
      ended: new Promise(() => undefined),
      [Symbol.asyncDispose]: async () => Promise.resolve(),
    };
    using _deadline = new StepDeadline(clock, execution, limits, "shadow", () => undefined);
    await clock.advance(afterMs);
    return stopped;
  };
  expect(await stages({}, 899_999)).toEqual([]);
  expect(await stages({}, 900_000)).toEqual([1]);
  expect(await stages({ shadowMs: 60_000 }, 60_000)).toEqual([1]);
  expect(await stages({ planMs: 60_000 }, 60_000)).toEqual([1]);
});

it("an apply that takes too long may end its calls", async () => {
  const { enqueue, reaches, fixture, reference, parts, read } = await startFakeWorker(
    async (step) => {
      if (step.job.step === "plan") return playPlan(step);
      const held = await fixtureOf().fence(step.job.stack, "executor");
      await step.host.beginApply(held?.tenure.epoch ?? 0n);
      await step.stopped;
      await held?.release();
      return { how: "result", result: { phase: "partially_applied", revision: "3" } };
    },
    { limits: { applyMs: 50, stopMs: 60_000 } },
  );
  const fixtureOf = () => fixture;
  const run = await enqueue();
  const { planDigest } = await reaches(run, "awaiting_approval");
  await approveRun(parts, run, { actor: "bea", planDigest });
  await reaches(run, "partially_applied");
  expect(await read(run)).toMatchObject({ reasonCode: "deadline", revision: 3n });
  expect(reference.stack).toBe(run.stack.stack);
});

it.each([
  ["memory", "out_of_memory"],
  ["processor", "out_of_processor_time"],
] as const)("a plan that needs too much %s fails, and is not tried again", async (reason, code) => {
  const { enqueue, reaches, jobs } = await startFakeWorker(async ({ host }) => {
    await host.beginPlanning();
    return { how: "lost", reason };
  });
  expect(await reaches(await enqueue(), "failed")).toMatchObject({ reasonCode: code });
  expect(jobs).toHaveLength(1);
});

it("a cancel ends a step before its deadline as before", async () => {
  const { enqueue, reaches, parts, worker } = await startFakeWorker(
    async ({ host, stopped }) => {
      await host.beginPlanning();
      await stopped;
      return { how: "result", result: { phase: "canceled" } };
    },
    { limits: { planMs: 60_000 } },
  );
  const run = await enqueue();
  await reaches(run, "planning");
  await cancelRun(parts, run, { actor: "bea" });
  worker.wake();
  expect(await reaches(run, "canceled")).toMatchObject({ reason: "canceled by bea" });
});
