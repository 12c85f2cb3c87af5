import { describe, expect, test } from "vitest";
import { createMemoryStorage, MEMORY_CAPABILITIES } from "../engine/memory.ts";
import { describeStorage } from "../testing/describe-storage.ts";
import { A1, HOME, sample, sampleId } from "../testing/samples.ts";
import { observeStorage } from "./observe-storage.ts";
import type { ObservedCall, StorageObserver } from "./storage-observer.ts";

const SILENT: StorageObserver = {
  ended: () => undefined,
  watchOpened: () => () => undefined,
  delivered: () => undefined,
  lagged: () => undefined,
};

describeStorage(
  "observed memory",
  async () => ({
    open: async (options) => observeStorage(createMemoryStorage(options), SILENT),
    [Symbol.asyncDispose]: async () => undefined,
  }),
  MEMORY_CAPABILITIES,
);

describe("an observed store", () => {
  function observed() {
    const calls: ObservedCall[] = [];
    const seen = { open: 0, delivered: 0, lags: [] as number[], failures: [] as unknown[] };
    let nowMs = 0;
    const storage = observeStorage(
      createMemoryStorage({ watchBuffer: { events: 32 } }),
      {
        ended: (call) => calls.push(call),
        watchOpened: () => {
          seen.open += 1;
          return (failure) => {
            seen.open -= 1;
            seen.failures.push(failure);
          };
        },
        delivered: () => {
          seen.delivered += 1;
        },
        lagged: (ms) => seen.lags.push(ms),
      },
      () => nowMs,
    );
    return { storage, calls, seen, pass: (ms: number) => (nowMs += ms) };
  }

  test("reports each call with its kind, its time and its failure", async () => {
    const { storage, calls } = observed();
    await storage.writeCAS(sample(A1, HOME, "one"));
    await expect(storage.writeCAS(sample(A1, HOME, "one"))).rejects.toThrow();
    await expect(storage.read("strong", sampleId(A1, HOME, "two"))).rejects.toThrow();
    const signal = AbortSignal.abort(new Error("given up"));
    await expect(storage.list("strong", A1, HOME, "", { signal })).rejects.toThrow("given up");
    expect(calls.map(({ operation, type, failure }) => [operation, type?.kind, failure])).toEqual([
      ["write", "a", undefined],
      ["write", "a", "STORAGE_CAS_FAILURE"],
      ["read", "a", "STORAGE_NOT_FOUND"],
      ["list", "a", "canceled"],
    ]);
  });

  test("counts its watches, what they deliver, and how late that is", async () => {
    const { storage, seen, pass } = observed();
    const watch = await storage.watchList(A1, HOME, "");
    await storage.writeCAS(sample(A1, HOME, "one"));
    pass(30);
    await watch.next();
    expect(seen).toMatchObject({ open: 1, delivered: 1, lags: [30] });
    watch.close();
    watch.close();
    expect(seen).toMatchObject({ open: 0, failures: [undefined] });
  });

  test("reports a watch that was closed because its consumer is slow", async () => {
    const { storage, seen } = observed();
    using watch = await storage.watchList(A1, HOME, "");
    for (let count = 0; count < 40; count += 1) {
      await storage.writeCAS(sample(A1, HOME, `n${count}`));
    }
    await expect(
      (async () => {
        for (;;) await watch.next();
      })(),
    ).rejects.toThrow();
    expect(seen).toMatchObject({ open: 0, failures: ["STORAGE_WATCH_CLOSED"] });
  });
});
