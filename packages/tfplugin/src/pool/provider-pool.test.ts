import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FakeProcess } from "../testing/programs/fake-process.ts";
import type { PoolKey } from "./pool-key.ts";
import { environmentDigest } from "./pool-key.ts";
import type { ProviderPoolOptions } from "./pool-options.ts";
import { type AcquireRequest, ProviderPool } from "./provider-pool.ts";

const KEY: PoolKey = {
  project: "acme",
  binaryDigest: "b1",
  environmentDigest: "e1",
  configurationDigest: "c1",
};

function setUp(options: ProviderPoolOptions = {}) {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const started: FakeProcess[] = [];
  const pool = new ProviderPool(options);
  const acquire = (request: Partial<AcquireRequest> = {}) =>
    pool.acquire({
      key: KEY,
      run: "run-1",
      use: "read",
      start: async () => {
        const process = new FakeProcess();
        started.push(process);
        return process;
      },
      ...request,
    });
  return { pool, acquire, started };
}

describe("a pool of providers", () => {
  it("gives an idle provider to the next run with the same key", async () => {
    const { acquire, started } = setUp();
    await (await acquire()).release();
    await acquire({ run: "run-2" });
    expect(started).toHaveLength(1);
  });

  it.each(["project", "binaryDigest", "environmentDigest", "configurationDigest"] as const)(
    "does not share where the %s differs",
    async (part) => {
      const { acquire, started } = setUp();
      await (await acquire()).release();
      await acquire({ key: { ...KEY, [part]: "other" } });
      expect(started).toHaveLength(2);
    },
  );

  it("shares within a run, and not with another at the same time", async () => {
    const { acquire, started } = setUp();
    await Promise.all([acquire(), acquire(), acquire({ run: "run-2" })]);
    expect(started).toHaveLength(2);
  });

  it("ends a provider that has applied with its last lease", async () => {
    const { acquire, started, pool } = setUp();
    const first = await acquire({ use: "apply" });
    const second = await acquire({ use: "apply" });
    await first.release();
    expect(started[0]?.isClosed).toBe(false);
    await second.release();
    expect(started.map(({ isClosed }) => isClosed)).toEqual([true]);
    expect(pool.statistics).toEqual({ leased: 0, idle: 0, waiting: 0 });
  });

  it("applies with a provider that no other run has used", async () => {
    const { acquire, started } = setUp();
    await (await acquire()).release();
    await acquire({ run: "run-2" });
    await acquire({ run: "run-2", use: "apply" });
    expect(started).toHaveLength(2);
  });

  it("lets a run apply with what it planned with", async () => {
    const { acquire, started } = setUp();
    const read = await acquire();
    const apply = await acquire({ use: "apply" });
    await apply.release();
    await read.release();
    expect(started.map(({ isClosed }) => isClosed)).toEqual([true]);
  });

  it("retires a provider that was stopped", async () => {
    const { acquire, started } = setUp();
    const lease = await acquire();
    await lease.provider.stop({});
    const other = await acquire();
    await lease.release();
    await other.release();
    expect(started.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  it("ends what is idle too long", async () => {
    const { acquire, started, pool } = setUp({ idleMs: 1000 });
    await (await acquire()).release();
    await vi.advanceTimersByTimeAsync(999);
    expect(pool.statistics.idle).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(pool.statistics.idle).toBe(0);
    expect(started[0]?.isClosed).toBe(true);
  });

  it("starts anew instead of using one that is not well, or has ended", async () => {
    const { acquire, started } = setUp();
    await (await acquire()).release();
    if (started[0] !== undefined) started[0].isWell = false;
    await (await acquire()).release();
    started[1]?.crash();
    await vi.advanceTimersByTimeAsync(0);
    await acquire();
    expect(started.map(({ isClosed }) => isClosed)).toEqual([true, true, false]);
  });

  it("ends an idle provider where another one is wanted and the pool is full", async () => {
    const { acquire, started } = setUp({ maxProviders: 1 });
    await (await acquire()).release();
    await acquire({ key: { ...KEY, project: "other" } });
    expect(started.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  it("lets requests wait for a place, in their order", async () => {
    const { acquire, started, pool } = setUp({ maxProviders: 1 });
    const order: string[] = [];
    const first = await acquire();
    const waiting = ["run-2", "run-3"].map(async (run) => {
      await using lease = await acquire({ run });
      order.push(run);
      return lease.provider;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(pool.statistics.waiting).toBe(2);
    await first.release();
    await Promise.all(waiting);
    expect(order).toEqual(["run-2", "run-3"]);
    expect(started.filter(({ isClosed }) => !isClosed).length).toBeLessThan(2);
  });

  it("refuses when too many wait, and when the wait is too long", async () => {
    const { acquire, pool } = setUp({ maxProviders: 1, maxWaiting: 1, waitMs: 1000 });
    await acquire();
    const late = expect(acquire({ run: "run-2" })).rejects.toMatchObject({
      code: "TFPLUGIN_POOL_FULL",
    });
    await vi.advanceTimersByTimeAsync(0);
    await expect(acquire({ run: "run-3" })).rejects.toMatchObject({ code: "TFPLUGIN_POOL_FULL" });
    await vi.advanceTimersByTimeAsync(1000);
    await late;
    expect(pool.statistics).toEqual({ leased: 1, idle: 0, waiting: 0 });
  });

  it("frees the place of a start that failed, and of a request that was given up", async () => {
    const { acquire, pool } = setUp({ maxProviders: 1 });
    const broken = new Error("broken");
    await expect(acquire({ start: () => Promise.reject(broken) })).rejects.toBe(broken);
    const first = await acquire();
    const given = new AbortController();
    const waiting = expect(acquire({ run: "run-2", signal: given.signal })).rejects.toThrow(
      "enough",
    );
    given.abort(new Error("enough"));
    await waiting;
    await first.release();
    await acquire({ run: "run-3" });
    expect(pool.statistics).toEqual({ leased: 1, idle: 0, waiting: 0 });
  });

  it("ends everything when it is closed", async () => {
    const { acquire, started, pool } = setUp();
    await acquire();
    await (await acquire({ run: "run-2" })).release();
    await pool.close();
    expect(started.map(({ isClosed }) => isClosed)).toEqual([true, true]);
    await expect(acquire()).rejects.toMatchObject({ code: "TFPLUGIN_CLOSED" });
  });
});

it("the digest of an environment does not depend on its order", () => {
  expect(environmentDigest({ A: "1", B: "2" })).toBe(environmentDigest({ B: "2", A: "1" }));
  expect(environmentDigest({ A: "1", B: "2" })).not.toBe(environmentDigest({ A: "1\nB=2" }));
});
