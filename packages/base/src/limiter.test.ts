import { describe, expect, it } from "vitest";
import { forEachLimited, KeyedRateLimiter, Semaphore, TokenBucket } from "./limiter.ts";

describe("a semaphore", () => {
  it("admits as many as it has places, the others in the order of their calls", async () => {
    const semaphore = new Semaphore(2);
    const order: number[] = [];
    let running = 0;
    let most = 0;
    await Promise.all(
      [0, 1, 2, 3, 4].map((n) =>
        semaphore.run(async () => {
          order.push(n);
          most = Math.max(most, ++running);
          await Promise.resolve();
          running -= 1;
        }),
      ),
    );
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(2);
  });

  it("releases the place of work that fails", async () => {
    const semaphore = new Semaphore(1);
    await expect(semaphore.run(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await expect(semaphore.run(() => Promise.resolve("yes"))).resolves.toBe("yes");
  });

  it("refuses to have no place", () => {
    expect(() => new Semaphore(0)).toThrow(RangeError);
  });
});

describe("work on items with a limit", () => {
  it("begins in order and never exceeds the limit", async () => {
    const begun: number[] = [];
    let running = 0;
    let most = 0;
    await forEachLimited([1, 2, 3, 4, 5], 3, async (item) => {
      begun.push(item);
      most = Math.max(most, ++running);
      await Promise.resolve();
      running -= 1;
    });
    expect(begun).toEqual([1, 2, 3, 4, 5]);
    expect(most).toBe(3);
  });

  it("rejects with the first error", async () => {
    const work = (item: number) => (item === 2 ? Promise.reject(new Error("two")) : undefined);
    await expect(forEachLimited([1, 2, 3], 1, async (item) => work(item))).rejects.toThrow("two");
  });
});

describe("a token bucket", () => {
  it("holds a burst, and fills at its rate", () => {
    const bucket = new TokenBucket({ perSecond: 2, burst: 3 }, 0);
    expect([1, 2, 3, 4].map(() => bucket.take(0))).toEqual([true, true, true, false]);
    expect(bucket.waitMs(0)).toBe(500);
    expect(bucket.take(499)).toBe(false);
    expect(bucket.take(500)).toBe(true);
    expect(bucket.take(60_000)).toBe(true);
    expect(bucket.has(60_000)).toBe(true);
  });

  it("has a token after exactly the wait that it names, at rates that do not divide", () => {
    for (const perSecond of [3, 7, 0.3, 1_000 / 3]) {
      const bucket = new TokenBucket({ perSecond, burst: 1 }, 0);
      let nowMs = 0;
      for (let i = 0; i < 50; i++) {
        expect(bucket.take(nowMs)).toBe(true);
        nowMs += bucket.waitMs(nowMs);
      }
    }
  });

  it("gains nothing from time that runs backwards", () => {
    const bucket = new TokenBucket({ perSecond: 1, burst: 1 }, 10_000);
    expect(bucket.take(10_000)).toBe(true);
    expect(bucket.take(0)).toBe(false);
    expect(bucket.take(10_999)).toBe(false);
    expect(bucket.take(11_000)).toBe(true);
  });

  it.each([
    { perSecond: 0, burst: 1 },
    { perSecond: Number.NaN, burst: 1 },
    { perSecond: 1, burst: 0.5 },
  ])("refuses the limit %o", (limit) => {
    expect(() => new TokenBucket(limit, 0)).toThrow(RangeError);
  });
});

describe("rate limits by key", () => {
  it("limit each key by itself", () => {
    const limiter = new KeyedRateLimiter({ perSecond: 1, burst: 1 }, () => 0);
    expect(limiter.take("a")).toBe(0);
    expect(limiter.take("a")).toBe(1_000);
    expect(limiter.take("b")).toBe(0);
  });

  it("forget the key that was unused for longest, and only beyond the bound", () => {
    const limiter = new KeyedRateLimiter({ perSecond: 1, burst: 1, maxKeys: 2 }, () => 0);
    limiter.take("a");
    limiter.take("b");
    expect(limiter.take("a")).toBe(1_000);
    limiter.take("c");
    expect(limiter.take("a")).toBe(1_000);
    expect(limiter.take("b")).toBe(0);
  });
});
