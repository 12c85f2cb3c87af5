import { describe, expect, it } from "vitest";
import { type RetryOptions, retry, retryDelayMs } from "./retry.ts";
import { createManualClock } from "./testing/index.ts";

const policy = { maxAttempts: 3, initialDelayMs: 100, maxDelayMs: 150, jitter: 0 };

function options(given: Partial<RetryOptions> = {}) {
  const clock = createManualClock();
  return { clock, policy, random: () => 0, isRetryable: () => true, ...given } as const;
}

describe("a retry", () => {
  it("repeats with pauses that double up to the longest", async () => {
    const parts = options();
    const clock = createManualClock();
    const at: number[] = [];
    const result = retry({ ...parts, clock }, (attempt) => {
      at.push(clock.monotonicMs());
      return attempt < 3 ? Promise.reject(new Error("busy")) : Promise.resolve("done");
    });
    await clock.advance(1_000);
    await expect(result).resolves.toBe("done");
    expect(at).toEqual([0, 100, 250]);
  });

  it("passes on the last failure after the policy's attempts", async () => {
    const clock = createManualClock();
    let attempts = 0;
    const result = retry({ ...options(), clock }, () => {
      attempts += 1;
      return Promise.reject(new Error(`failure ${attempts}`));
    });
    const rejected = expect(result).rejects.toThrow("failure 3");
    await clock.advance(10_000);
    await rejected;
    expect(attempts).toBe(3);
  });

  it("passes on an error that may not be repeated", async () => {
    let attempts = 0;
    const result = retry(options({ isRetryable: () => false }), () => {
      attempts += 1;
      return Promise.reject(new Error("wrong"));
    });
    await expect(result).rejects.toThrow("wrong");
    expect(attempts).toBe(1);
  });

  it("ends in a pause with the reason of its signal, and leaves no timer", async () => {
    const clock = createManualClock();
    const controller = new AbortController();
    const result = retry({ ...options({ signal: controller.signal }), clock }, () =>
      Promise.reject(new Error("busy")),
    );
    const rejected = expect(result).rejects.toThrow("stopped");
    await clock.advance(50);
    expect(clock.pending).toBe(1);
    controller.abort(new Error("stopped"));
    await rejected;
    expect(clock.pending).toBe(0);
  });

  it("takes the random share of a pause off it", () => {
    const random = () => 0.5;
    expect(retryDelayMs({ ...policy, jitter: 1 }, 1, random)).toBe(50);
    expect(retryDelayMs({ ...policy, jitter: 0.5 }, 2, random)).toBe(112.5);
    expect(retryDelayMs({ ...policy, jitter: 0 }, 9, random)).toBe(150);
  });
});
