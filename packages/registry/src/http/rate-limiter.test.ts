import { describe, expect, it } from "vitest";
import { RateLimiter } from "./rate-limiter.ts";

/** As many accounts as a limiter remembers. */
const REMEMBERED = 10_000;

function setUp() {
  let nowMs = 0;
  const limiter = new RateLimiter({ perSecond: 2, burst: 1 }, () => nowMs);
  return {
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** Milliseconds to wait; 0 for a request that was let through. */
    take: (key: string): number => {
      try {
        limiter.take(key);
        return 0;
      } catch (error) {
        expect(error).toMatchObject({ code: "REGISTRY_RATE_LIMITED", retryable: true });
        return (error as { details: { retryAfterMs: number } }).details.retryAfterMs;
      }
    },
  };
}

describe("a rate limiter", () => {
  it("lets a burst through, and then as many as the rate allows", () => {
    const { take, pass } = setUp();
    expect([take("a"), take("a"), take("b")]).toEqual([0, 500, 0]);
    pass(375);
    expect(take("a")).toBe(125);
    pass(125);
    expect([take("a"), take("a")]).toEqual([0, 500]);
    pass(3_600_000);
    expect([take("a"), take("a")]).toEqual([0, 500]);
  });

  it("remembers as many accounts as fit, and forgets none for one that it knows", () => {
    const { take } = setUp();
    for (let n = 0; n < REMEMBERED; n += 1) expect(take(`a${n}`)).toBe(0);
    // In the order of their last request: refused ones count too.
    for (let n = 0; n < REMEMBERED; n += 1) expect([n, take(`a${n}`)]).toEqual([n, 500]);
  });

  it("forgets the account that was unseen for longest, and that one alone", () => {
    const { take } = setUp();
    for (let n = 0; n < REMEMBERED; n += 1) take(`a${n}`);
    expect(take("a0")).toBe(500);
    expect(take("new")).toBe(0);
    // a1 was the one unseen for longest: it has a full bucket again, all others are still limited.
    expect([take("a0"), take("a2"), take(`a${REMEMBERED - 1}`), take("new")]).toEqual([
      500, 500, 500, 500,
    ]);
    expect(take("a1")).toBe(0);
  });
});
