import { systemClock } from "@stackwright/base/clock";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { PoolSlots } from "./slots.ts";

function setUp(places = 1) {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const slots = new PoolSlots({ places, maxWaiting: 3, waitMs: 1000 }, systemClock);
  const got: string[] = [];
  return {
    slots,
    got,
    take: async (name: string, signal?: AbortSignal): Promise<void> => {
      try {
        await slots.take(signal);
        got.push(name);
      } catch {
        got.push(`not ${name}`);
      }
    },
    settled: async () => vi.advanceTimersByTimeAsync(0),
  };
}

describe("places", () => {
  it("are not taken by a request that comes while others wait", async () => {
    const { slots, got, take, settled } = setUp();
    await take("a");
    void take("b");
    void take("c");
    slots.free();
    // In the moment in which the place passes to b, which does not know it yet.
    void take("d");
    expect(slots).toMatchObject({ used: 1, waiting: 2, isFull: true });
    await settled();
    expect(got).toEqual(["a", "b"]);
    slots.free();
    await settled();
    slots.free();
    await settled();
    expect(got).toEqual(["a", "b", "c", "d"]);
    slots.free();
    expect(slots).toMatchObject({ used: 0, waiting: 0, isFull: false });
  });

  it("are not lost with a request that gives up in the moment in which one becomes free", async () => {
    const { slots, got, take, settled } = setUp();
    await take("a");
    const giving = new AbortController();
    void take("b", giving.signal);
    void take("c");
    giving.abort();
    slots.free();
    await settled();
    expect(got.toSorted()).toEqual(["a", "c", "not b"]);
    slots.free();
    expect(slots).toMatchObject({ used: 0, waiting: 0 });
  });

  it("belong to a request that got one before it gave up", async () => {
    const { slots, got, take, settled } = setUp();
    await take("a");
    const giving = new AbortController();
    void take("b", giving.signal);
    slots.free();
    giving.abort();
    await settled();
    expect(got).toEqual(["a", "b"]);
    expect(slots).toMatchObject({ used: 1, waiting: 0 });
  });

  it("are waited for as long as is allowed, by as many as may wait", async () => {
    const { slots, got, take, settled } = setUp();
    await take("a");
    for (const name of ["b", "c", "d", "e"]) void take(name);
    await settled();
    expect(got).toEqual(["a", "not e"]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(got).toEqual(["a", "not e", "not b", "not c", "not d"]);
    expect(slots).toMatchObject({ used: 1, waiting: 0 });
    slots.free();
    await take("f");
    expect(got.at(-1)).toBe("f");
  });
});
