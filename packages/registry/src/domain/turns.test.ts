import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { createTestScheduler } from "../testing/test-scheduler.ts";
import { retryCollisions, Turns } from "./turns.ts";

/** Tasks that end when the test says so, and what began and ended in which order. */
function setUp() {
  const turns = new Turns();
  const log: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  return {
    turns,
    log,
    run: (key: string, name: string): Promise<string> =>
      turns.run(key, async () => {
        log.push(`${name} begins`);
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        ends.set(name, { resolve, reject });
        try {
          await promise;
        } finally {
          log.push(`${name} ends`);
        }
        return name;
      }),
    end: (name: string) => ends.get(name)?.resolve(),
    fail: (name: string) => ends.get(name)?.reject(new Error(name)),
    /** Everything that can happen without a further end. */
    settled: () => new Promise((resolve) => setImmediate(resolve)),
  };
}

describe("turns", () => {
  it("of one key go one after the other, in the order in which they were asked for", async () => {
    const { run, end, settled, log } = setUp();
    const all = [run("k", "1"), run("k", "2"), run("k", "3")];
    await settled();
    expect(log).toEqual(["1 begins"]);
    end("1");
    await settled();
    // One that comes now waits behind those that wait already, and not behind the first alone.
    all.push(run("k", "4"));
    await settled();
    expect(log).toEqual(["1 begins", "1 ends", "2 begins"]);
    for (const name of ["2", "3", "4"]) {
      end(name);
      await settled();
    }
    expect(await Promise.all(all)).toEqual(["1", "2", "3", "4"]);
    expect(log).toEqual(["1", "2", "3", "4"].flatMap((name) => [`${name} begins`, `${name} ends`]));
  });

  it("of different keys do not wait for each other", async () => {
    const { run, end, settled, log } = setUp();
    const all = [run("k", "1"), run("l", "2")];
    await settled();
    expect(log).toEqual(["1 begins", "2 begins"]);
    end("1");
    end("2");
    await Promise.all(all);
  });

  it("go on after one that failed, which alone is told", async () => {
    const { run, end, fail, settled, log } = setUp();
    const failing = run("k", "1");
    const next = run("k", "2");
    await settled();
    fail("1");
    await expect(failing).rejects.toThrow("1");
    await settled();
    expect(log).toEqual(["1 begins", "1 ends", "2 begins"]);
    end("2");
    expect(await next).toBe("2");
  });

  it("leave nothing behind", async () => {
    const { turns, run, end, settled } = setUp();
    const all = [run("k", "1"), run("k", "2"), run("l", "3")];
    await settled();
    expect(turns.keys).toBe(2);
    end("1");
    end("3");
    await settled();
    expect(turns.keys).toBe(1);
    end("2");
    await Promise.all(all);
    expect(turns.keys).toBe(0);
  });
});

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
    const scheduler = {
      ...createTestScheduler(),
      after: (_delayMs: number, task: () => void) => {
        queueMicrotask(task);
        return { [Symbol.dispose]: () => undefined };
      },
    };
    const colliding = retryCollisions(scheduler, undefined, async () => {
      attempts += 1;
      await storage.writeCAS(resource);
    });
    await expect(colliding).rejects.toMatchObject({ code: "REGISTRY_CONTENTION" });
    expect(attempts).toBe(24);
    const failing = retryCollisions(scheduler, undefined, async () => {
      attempts += 1;
      throw new TypeError("no collision");
    });
    await expect(failing).rejects.toThrow(TypeError);
    expect(attempts).toBe(25);
  });
});
