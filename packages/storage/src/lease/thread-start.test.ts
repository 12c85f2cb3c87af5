import type * as WorkerThreads from "node:worker_threads";
import { expect, test, vi } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { HOME } from "../testing/samples.ts";
import { createLeases } from "./leases.ts";
import { createThreadRenewer } from "./thread-renewer.ts";

const threads = vi.hoisted(() => ({ started: 0 }));

vi.mock("node:worker_threads", async (original) => {
  const real = await original<typeof WorkerThreads>();
  class Worker extends real.Worker {
    constructor(...given: ConstructorParameters<typeof real.Worker>) {
      super(...given);
      threads.started += 1;
    }
  }
  return { ...real, Worker };
});

const module = new URL("../testing/threaded/threaded-storage.ts", import.meta.url).href;
const source = { module, factory: "createThreadedStorage", options: { name: "of no host" } };
// Nothing is renewed while the test lasts.
const timing = { ttlMs: 180_000, renewMs: 60_000, stopMs: 120_000 };

test("one thread starts, with the first lease", async () => {
  threads.started = 0;
  await using storage = createMemoryStorage();
  await using renewer = createThreadRenewer({ source });
  expect(threads.started).toBe(0);
  const leases = createLeases({ storage, owner: "one", timing, renewer });
  await using first = await leases.acquire({ tenancy: HOME, name: "first" });
  expect(threads.started).toBe(1);
  await using second = await leases.acquire({ tenancy: HOME, name: "second" });
  expect(threads.started).toBe(1);
  expect([first.isHeld(), second.isHeld()]).toEqual([true, true]);
});

test("a renewer that was closed without a lease keeps none", async () => {
  threads.started = 0;
  await using storage = createMemoryStorage();
  const renewer = createThreadRenewer({ source });
  await renewer.close();
  const leases = createLeases({ storage, owner: "one", timing, renewer });
  const late = leases.acquire({ tenancy: HOME, name: "late" });
  await expect(
    late.then((lease) => {
      expect(lease.isHeld()).toBe(false);
      throw lease.signal.reason;
    }),
  ).rejects.toMatchObject({ code: "STORAGE_LEASE_LOST" });
  expect(threads.started).toBe(0);
});
