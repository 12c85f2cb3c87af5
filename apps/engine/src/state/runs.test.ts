import { createUlidGenerator, systemScheduler } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { TEST_STACK } from "../testing/state-fixture.ts";
import { createRuns, RUN_TRANSITIONS, type RunPhase } from "./runs.ts";

function runsOf(storage = createMemoryStorage()) {
  const token = createUlidGenerator({ wallMs: () => Date.now() });
  return createRuns(TEST_STACK, { storage, scheduler: systemScheduler(), token });
}

describe("runs", () => {
  it("go from phase to phase and keep what they are told", async () => {
    const runs = runsOf();
    await runs.create({ id: "r1", cause: "user:ann" });
    await runs.transition("r1", "queued", "preparing");
    await runs.transition("r1", "preparing", "planning");
    await runs.transition("r1", "planning", "planned", { planDigest: "ab" });
    await runs.transition("r1", "planned", "approved");
    await runs.transition("r1", "approved", "applying", { epoch: 4n });
    await runs.transition("r1", "applying", "partially_applied", {
      revision: 8n,
      reason: "b failed",
    });
    expect(await runs.read("r1")).toMatchObject({
      id: "r1",
      phase: "partially_applied",
      cause: "user:ann",
      planDigest: "ab",
      epoch: 4n,
      revision: 8n,
      reason: "b failed",
    });
    expect(await runs.read("r2")).toBeUndefined();
  });

  it("are made once, however many react to one cause", async () => {
    const runs = runsOf();
    const made = await Promise.all(
      [1, 2, 3].map(() => runs.create({ id: "output-x-4", cause: "output:x@4" })),
    );
    expect(new Set(made.map(({ createdAtMs }) => createdAtMs)).size).toBe(1);
    expect(await runs.list()).toHaveLength(1);
  });

  it("are claimed by one of several", async () => {
    const runs = runsOf();
    await runs.create({ id: "r1", cause: "user:ann" });
    const claims = [1n, 2n, 3n].map((epoch) =>
      runs.transition("r1", "queued", "preparing", { epoch }),
    );
    const outcomes = await Promise.allSettled(claims);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") {
        expect(outcome.reason).toMatchObject({ code: "ENGINE_STATE_TRANSITION" });
      }
    }
  });

  it("cannot leave an end, nor take a way that is not there", async () => {
    const runs = runsOf();
    await runs.create({ id: "r1", cause: "user:ann" });
    const code = "ENGINE_STATE_TRANSITION";
    await expect(runs.transition("r1", "queued", "applying")).rejects.toMatchObject({ code });
    await runs.transition("r1", "queued", "canceled");
    for (const to of Object.keys(RUN_TRANSITIONS) as RunPhase[]) {
      await expect(runs.transition("r1", "canceled", to)).rejects.toMatchObject({ code });
    }
  });
});
