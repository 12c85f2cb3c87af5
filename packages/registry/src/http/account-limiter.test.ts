import { describe, expect, it } from "vitest";
import { AccountLimiter } from "./account-limiter.ts";

describe("a limiter of requests per account", () => {
  it("refuses with the time after which to try again", () => {
    let nowMs = 0;
    const limiter = new AccountLimiter({ perSecond: 2, burst: 1 }, { monotonicMs: () => nowMs });
    limiter.take("a");
    limiter.take("b");
    const refused = (retryAfterMs: number) =>
      expect.objectContaining({
        code: "REGISTRY_RATE_LIMITED",
        retryable: true,
        details: { retryAfterMs },
      });
    expect(() => limiter.take("a")).toThrow(refused(500));
    nowMs += 375;
    expect(() => limiter.take("a")).toThrow(refused(125));
    nowMs += 125;
    limiter.take("a");
    expect(() => limiter.take("a")).toThrow(refused(500));
  });

  it("refuses nothing without a limit", () => {
    const limiter = new AccountLimiter(undefined, { monotonicMs: () => 0 });
    for (let n = 0; n < 1_000; n += 1) limiter.take("a");
  });
});
