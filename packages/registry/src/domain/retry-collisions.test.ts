import { StorageError } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { createTestClock } from "../testing/test-clock.ts";
import { retryCollisions } from "./retry-collisions.ts";

describe("retries of collisions", () => {
  it("end after 24 attempts, and at once for every other failure", async () => {
    await using storage = createMemoryStorage();
    const id = {
      uid: "u",
      name: "x",
      type: { group: "g", groupVersion: "v1", kind: "K" },
      tenancy: { partition: "p", peerName: "local", namespace: "n" },
    };
    const resource = { id, version: "no", generation: "", metadata: {}, status: {} };
    let attempts = 0;
    const clock = {
      ...createTestClock(),
      after: (_delayMs: number, task: () => void) => {
        queueMicrotask(task);
        return { [Symbol.dispose]: () => undefined };
      },
    };
    const colliding = retryCollisions(clock, undefined, async () => {
      attempts += 1;
      await storage.writeCAS(resource);
    });
    await expect(colliding).rejects.toMatchObject({ code: "REGISTRY_CONTENTION" });
    expect(attempts).toBe(24);
    const failing = retryCollisions(clock, undefined, async () => {
      attempts += 1;
      throw new TypeError("no collision");
    });
    await expect(failing).rejects.toThrow(TypeError);
    expect(attempts).toBe(25);
  });

  it("end with the reason of their signal", async () => {
    const controller = new AbortController();
    const collision = new StorageError("STORAGE_CAS_FAILURE", "another writer was faster");
    const aborted = retryCollisions(createTestClock(), controller.signal, async () => {
      controller.abort(new Error("the client went away"));
      throw collision;
    });
    await expect(aborted).rejects.toThrow("the client went away");
  });
});
