import { createManualClock } from "@stackwright/base/testing";
import { expect, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import type { Resource } from "../resource.ts";
import { DelegatingStorage } from "../testing/delegate.ts";
import { HOME } from "../testing/samples.ts";
import type { StorageBackend, WriteOptions } from "../types.ts";
import { createLeases } from "./leases.ts";
import { Renewal, type RenewalTask } from "./renewal.ts";

const TIMING = { ttlMs: 9_000, renewMs: 2_000, stopMs: 6_000 };

class CountsWrites extends DelegatingStorage {
  writes = 0;

  override writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    this.writes += 1;
    return this.inner.writeCAS(resource, options);
  }
}

test("stops at once while its store is being opened, and does not write to it afterwards", async () => {
  const clock = createManualClock();
  const storage = new CountsWrites(createMemoryStorage());
  const tasks: RenewalTask[] = [];
  const renewer = {
    start: (task: RenewalTask) => {
      tasks.push(task);
      return { renewedAt: () => task.acquiredAt, stop: () => Promise.resolve() };
    },
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const leases = createLeases({ storage, owner: "one", timing: TIMING, clock, renewer });
  await leases.tryAcquire({ tenancy: HOME, name: "stack" });
  const [task] = tasks;
  if (task === undefined) throw new Error("the lease is not free");
  const opening = Promise.withResolvers<StorageBackend>();
  const lost: unknown[] = [];
  const renewal = new Renewal(task, {
    storage: () => opening.promise,
    clock,
    token: () => "token",
    onRenewed: () => undefined,
    onLost: (error) => lost.push(error),
  });
  renewal.start();
  await clock.advance(TIMING.renewMs);
  const ends: string[] = [];
  const stopped = renewal.stop().then(() => ends.push("stopped"));
  await clock.advance(TIMING.stopMs);
  expect(ends).toEqual(["stopped"]);
  const { writes } = storage;
  opening.resolve(storage);
  await stopped;
  await clock.advance(TIMING.ttlMs);
  expect(storage.writes).toBe(writes);
  expect(lost).toEqual([]);
});
