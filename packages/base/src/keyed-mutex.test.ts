import { describe, expect, it } from "vitest";
import { KeyedMutex } from "./keyed-mutex.ts";

describe("a mutex by key", () => {
  it("runs tasks of one key one after the other, in the order of their calls", async () => {
    const mutex = new KeyedMutex();
    const seen: string[] = [];
    const task = (name: string) => async () => {
      seen.push(`${name} begins`);
      await Promise.resolve();
      seen.push(`${name} ends`);
    };
    await Promise.all([mutex.run("k", task("a")), mutex.run("k", task("b"))]);
    expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  });

  it("lets tasks of other keys run meanwhile", async () => {
    const mutex = new KeyedMutex();
    let release = (): void => undefined;
    const blocked = mutex.run(
      "a",
      () =>
        new Promise<void>((resolve) => {
          release = resolve;
        }),
    );
    await expect(mutex.run("b", () => Promise.resolve("free"))).resolves.toBe("free");
    release();
    await blocked;
  });

  it("runs the next task after one that fails, and keeps no key", async () => {
    const mutex = new KeyedMutex();
    const failed = mutex.run("k", () => Promise.reject(new Error("no")));
    const next = mutex.run("k", () => Promise.resolve("yes"));
    expect(mutex.size).toBe(1);
    await expect(failed).rejects.toThrow("no");
    await expect(next).resolves.toBe("yes");
    expect(mutex.size).toBe(0);
  });
});
