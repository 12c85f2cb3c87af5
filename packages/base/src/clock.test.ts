import { describe, expect, it } from "vitest";
import { sleep, systemClock } from "./clock.ts";
import { createManualClock } from "./testing/index.ts";

describe("the system clock", () => {
  it("has a monotonic scale that does not run backwards", () => {
    const first = systemClock.monotonicMs();
    expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(first);
  });

  it("counts on the scale of the process, whose origin no thread and no wall clock changes", () => {
    const before = Number(process.hrtime.bigint()) / 1e6;
    const nowMs = systemClock.monotonicMs();
    expect(nowMs).toBeGreaterThanOrEqual(before - 0.001);
    expect(nowMs).toBeLessThanOrEqual(Number(process.hrtime.bigint()) / 1e6);
  });

  it("runs a task once, also after a negative delay", async () => {
    let runs = 0;
    await new Promise<void>((resolve) => {
      systemClock.after(-5, () => {
        runs += 1;
        resolve();
      });
    });
    expect(runs).toBe(1);
  });
});

describe("sleep", () => {
  it("resolves when its time has come, not before", async () => {
    const clock = createManualClock();
    const sleeping = sleep(clock, 100);
    await clock.advance(99);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    await expect(sleeping).resolves.toBeUndefined();
  });

  it("rejects with the reason of its signal and leaves no timer", async () => {
    const clock = createManualClock();
    const controller = new AbortController();
    const sleeping = sleep(clock, 100, controller.signal);
    controller.abort(new Error("enough"));
    await expect(sleeping).rejects.toThrow("enough");
    expect(clock.pending).toBe(0);
  });

  it("starts no timer for a signal that is aborted already", async () => {
    const clock = createManualClock();
    await expect(sleep(clock, 1, AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
    expect(clock.pending).toBe(0);
  });
});

describe("a manual clock", () => {
  it("runs due tasks in the order of their times, tasks of tasks included", async () => {
    const clock = createManualClock(5_000);
    const seen: string[] = [];
    clock.after(20, () => seen.push("b"));
    clock.after(10, () => {
      seen.push("a");
      clock.after(5, () => seen.push("a+5"));
    });
    clock.after(31, () => seen.push("late"));
    await clock.advance(30);
    expect(seen).toEqual(["a", "a+5", "b"]);
    expect(clock.monotonicMs()).toBe(30);
    expect(clock.wallMs()).toBe(5_030);
  });

  it("skips time without running a task", async () => {
    const clock = createManualClock();
    let ran = false;
    clock.after(10, () => {
      ran = true;
    });
    clock.skip(50);
    expect(ran).toBe(false);
    await clock.advance(0);
    expect(ran).toBe(true);
  });
});
