import { createManualClock } from "@stackwright/base/testing";
import { describe, expect, it } from "vitest";
import { LimiterSet } from "./limits.ts";
import { walkGraph } from "./ready-queue.ts";

const turn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("walkGraph", () => {
  it("runs every vertex after all that it waits for", async () => {
    const done: number[] = [];
    const next = [[1, 2], [3], [3], []];
    await walkGraph({ size: 4, next }, { run: (vertex) => void done.push(vertex) });
    expect(done).toEqual([0, 1, 2, 3]);
  });

  it("begins with the longest way to the end", async () => {
    const done: number[] = [];
    // 0 is alone; 1 -> 2 -> 3.
    await walkGraph(
      { size: 4, next: [[], [2], [3], []] },
      { run: (vertex) => void done.push(vertex) },
    );
    expect(done).toEqual([1, 2, 0, 3]);
  });

  it("never runs more at once than a limit allows, and all in the end", async () => {
    let running = 0;
    let most = 0;
    const size = 500;
    using limits = new LimiterSet(
      { "": { maxConcurrent: 3 }, x: { maxConcurrent: 1 } },
      createManualClock(),
    );
    let withX = 0;
    let mostX = 0;
    const left = await walkGraph(
      { size, next: Array.from({ length: size }, () => []) },
      {
        limits,
        limitsOf: (vertex) => (vertex % 5 === 0 ? ["", "x"] : [""]),
        async run(vertex) {
          most = Math.max(most, ++running);
          if (vertex % 5 === 0) mostX = Math.max(mostX, ++withX);
          await turn();
          running -= 1;
          if (vertex % 5 === 0) withX -= 1;
        },
      },
    );
    expect({ most, mostX, left }).toEqual({ most: 3, mostX: 1, left: [] });
  });

  it("does not let one exhausted limit hold up what does not count against it", async () => {
    const begun: number[] = [];
    const gate = Promise.withResolvers<void>();
    using limits = new LimiterSet(
      { "": { maxConcurrent: 2 }, slow: { maxConcurrent: 1 } },
      createManualClock(),
    );
    const walk = walkGraph(
      { size: 5, next: [[], [], [], [], []] },
      {
        limits,
        limitsOf: (vertex) => (vertex < 3 ? ["", "slow"] : [""]),
        async run(vertex) {
          begun.push(vertex);
          if (vertex < 3) await gate.promise;
        },
      },
    );
    await turn();
    expect(begun).toEqual([0, 3, 4]);
    gate.resolve();
    expect(await walk).toEqual([]);
  });

  it("begins no more often than a bucket of tokens fills", async () => {
    const clock = createManualClock();
    using limits = new LimiterSet({ "": { callsPerSecond: 10, burst: 2 } }, clock);
    const begun: number[] = [];
    const walk = walkGraph(
      { size: 4, next: [[], [], [], []] },
      { limits, limitsOf: () => [""], run: (vertex) => void begun.push(vertex) },
    );
    expect(begun).toEqual([0, 1]);
    await clock.advance(99);
    expect(begun).toEqual([0, 1]);
    await clock.advance(1);
    expect(begun).toEqual([0, 1, 2]);
    await clock.advance(100);
    expect(begun).toEqual([0, 1, 2, 3]);
    expect(await walk).toEqual([]);
  });

  it("begins nothing more once it is stopped, and waits for what runs", async () => {
    const stop = new AbortController();
    const gate = Promise.withResolvers<void>();
    const ended: number[] = [];
    const walk = walkGraph(
      { size: 3, next: [[1], [2], []] },
      {
        stop: stop.signal,
        async run(vertex) {
          await gate.promise;
          ended.push(vertex);
        },
      },
    );
    stop.abort();
    gate.resolve();
    expect(await walk).toEqual([1, 2]);
    expect(ended).toEqual([0]);
  });

  it("rejects with the first error, after what runs has ended", async () => {
    const ended: number[] = [];
    const walk = walkGraph(
      { size: 3, next: [[], [], []] },
      {
        async run(vertex) {
          if (vertex === 1) throw new Error("no");
          await turn();
          ended.push(vertex);
        },
      },
    );
    await expect(walk).rejects.toThrow("no");
    expect(ended).toEqual([0, 2]);
  });

  it("takes time in proportion to vertices, whatever is parked", async () => {
    const size = 20_000;
    using limits = new LimiterSet({ "": { maxConcurrent: 10 } }, createManualClock());
    let attempts = 0;
    const take = limits.take.bind(limits);
    limits.take = (...given) => {
      attempts += 1;
      return take(...given);
    };
    await walkGraph(
      { size, next: Array.from({ length: size }, () => []) },
      { limits, limitsOf: () => [""], run: async () => Promise.resolve() },
    );
    expect(attempts).toBeLessThan(4 * size);
  });
});
