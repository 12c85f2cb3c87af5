import { setTimeout as delay } from "node:timers/promises";
import type * as WorkerThreads from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { HOME } from "../testing/samples.ts";
import { createLeases } from "./leases.ts";
import type { Renewer } from "./renewer.ts";
import { createThreadRenewer } from "./thread-renewer.ts";

const threads = vi.hoisted(() => ({ started: 0, ended: 0, isLoaded: true, isRefused: false }));

vi.mock("node:worker_threads", async (original) => {
  const real = await original<typeof WorkerThreads>();
  class Worker extends real.Worker {
    constructor(...[entry, options]: ConstructorParameters<typeof real.Worker>) {
      if (threads.isRefused) throw new Error("no thread is left");
      if (threads.isLoaded) super(entry, options);
      // Is never done with its modules.
      else super("setInterval(() => undefined, 1000)", { eval: true });
      threads.started += 1;
    }

    override async terminate(): Promise<number> {
      const code = await super.terminate();
      threads.ended += 1;
      return code;
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

test("a lease that is given back, and the end, wait for no thread that is not up", async () => {
  threads.started = 0;
  threads.isLoaded = false;
  onTestFinished(() => void (threads.isLoaded = true));
  await using storage = createMemoryStorage();
  await using renewer = createThreadRenewer({ source });
  const leases = createLeases({ storage, owner: "one", timing, renewer });
  const lease = await leases.acquire({ tenancy: HOME, name: "short" });
  await lease.release();
  await using again = await leases.acquire({ tenancy: HOME, name: "short" });
  expect(again.isHeld()).toBe(true);
  expect(threads.started).toBe(1);
});

test("a thread that starts later does not start for a lease that is given back before", async () => {
  threads.started = 0;
  await using storage = createMemoryStorage();
  const leasesOf = (renewer: Renewer) => createLeases({ storage, owner: "one", timing, renewer });
  await using patient = createThreadRenewer({ source, startDelayMs: 60_000 });
  const first = await leasesOf(patient).acquire({ tenancy: HOME, name: "first" });
  await first.release();
  expect(threads.started).toBe(0);
  await using prompt = createThreadRenewer({ source, startDelayMs: 1 });
  await using second = await leasesOf(prompt).acquire({ tenancy: HOME, name: "second" });
  await expect.poll(() => threads.started, { timeout: 30_000 }).toBe(1);
  expect(second.isHeld()).toBe(true);
});

test("holders are notified when the system refuses a thread that starts later", async () => {
  threads.isRefused = true;
  onTestFinished(() => void (threads.isRefused = false));
  await using storage = createMemoryStorage();
  await using renewer = createThreadRenewer({ source, startDelayMs: 1 });
  const lease = await createLeases({ storage, owner: "one", timing, renewer }).acquire({
    tenancy: HOME,
    name: "refused",
  });
  await expect.poll(() => lease.signal.aborted, { timeout: 30_000 }).toBe(true);
  expect(lease.signal.reason).toMatchObject({
    code: "STORAGE_LEASE_LOST",
    message: expect.stringContaining("no thread is left"),
  });
});

test("a thread whose only lease was given back before it started does not start later", async () => {
  threads.started = 0;
  await using storage = createMemoryStorage();
  await using renewer = createThreadRenewer({ source, startDelayMs: 500 });
  const leases = createLeases({ storage, owner: "one", timing, renewer });
  const lease = await leases.acquire({ tenancy: HOME, name: "short" });
  await lease.release();
  await delay(700);
  expect(threads.started).toBe(0);
});

test("closing resolves when the thread has ended", async () => {
  threads.ended = 0;
  await using storage = createMemoryStorage();
  const renewer = createThreadRenewer({ source });
  const leases = createLeases({ storage, owner: "one", timing, renewer });
  const lease = await leases.acquire({ tenancy: HOME, name: "closed" });
  await lease.release();
  await renewer.close();
  expect(threads.ended).toBe(1);
});

test("a lease that is taken after the thread has failed is lost at once", async () => {
  await using storage = createMemoryStorage();
  await using renewer = createThreadRenewer({ source: { ...source, factory: "nothing" } });
  const leases = createLeases({ storage, owner: "one", timing, renewer });
  const first = await leases.acquire({ tenancy: HOME, name: "first" });
  await expect.poll(() => first.signal.aborted, { timeout: 30_000 }).toBe(true);
  const second = await leases.acquire({ tenancy: HOME, name: "second" });
  expect(second.signal.reason).toMatchObject({
    code: "STORAGE_LEASE_LOST",
    message: expect.stringContaining("exports no nothing"),
  });
});

test("a lease is held no longer than its deadline, by the clock, while nothing renews it", async () => {
  threads.isLoaded = false;
  onTestFinished(() => void (threads.isLoaded = true));
  await using storage = createMemoryStorage();
  await using renewer = createThreadRenewer({ source });
  const short = { ttlMs: 3_000, renewMs: 1_000, stopMs: 2_000 };
  const leases = createLeases({ storage, owner: "one", timing: short, renewer });
  await using lease = await leases.acquire({ tenancy: HOME, name: "stands still" });
  expect(lease.isHeld()).toBe(true);
  await delay(2_000);
  expect(lease.isHeld()).toBe(false);
});
