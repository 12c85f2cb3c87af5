import { describe, expect, it } from "vitest";
import { type BreakerOptions, CircuitBreaker } from "./circuit-breaker.ts";

function setUp(options: BreakerOptions = {}) {
  let now = 0;
  const clock = {
    monotonicMs: () => now,
    wallMs: () => now,
    after: () => ({ [Symbol.dispose]: () => undefined }),
  };
  const breaker = new CircuitBreaker(clock, options);
  return {
    breaker,
    pass: (ms: number) => {
      now += ms;
    },
    /** Reports calls: `x` failed, `.` succeeded. Returns the state after each. */
    report: (calls: string) =>
      calls.split("").map((call) => {
        if (call === "x") breaker.failed();
        else breaker.succeeded();
        return breaker.state;
      }),
  };
}

describe("a circuit breaker", () => {
  it("opens with the fifth failure in a row, not with the fourth", () => {
    expect(setUp().report("xxxx").at(-1)).toBe("closed");
    expect(setUp().report("xxxxx").at(-1)).toBe("open");
    expect(setUp().report("xxxx.xxxx").at(-1)).toBe("closed");
  });

  it("opens when exactly half of ten calls have failed", () => {
    expect(setUp().report(".x.x.x.x.x")).toEqual([...Array<string>(9).fill("closed"), "open"]);
  });

  it("stays closed below that share, and below that number of calls", () => {
    expect(setUp().report("..x.x.x.xx..").at(-1)).toBe("closed");
    expect(setUp().report("...x.x.x.x").at(-1)).toBe("closed");
    expect(setUp().report("x.x.x.x.x").at(-1)).toBe("closed");
  });

  it("with a share of 1 opens when every call has failed", () => {
    const options = { failureRatio: 1, minimumCalls: 3, consecutiveFailures: 100 };
    expect(setUp(options).report("xxx")).toEqual(["closed", "closed", "open"]);
    expect(setUp(options).report(".xxxxx").at(-1)).toBe("closed");
  });

  it("counts calls of the window alone, its bound included", () => {
    for (const [ms, state] of [
      [30_000, "open"],
      [30_001, "closed"],
    ] as const) {
      const { report, pass } = setUp();
      report(".x.x.x.x.");
      pass(ms);
      expect([ms, report("x").at(-1)]).toEqual([ms, state]);
    }
  });

  it("is half open after its pause, lets one call try, and follows its result", () => {
    const { breaker, report, pass } = setUp();
    report("xxxxx");
    pass(9_999);
    expect(breaker.enter()).toBe("refused");
    pass(1);
    expect([breaker.state, breaker.enter(), breaker.enter()]).toEqual([
      "half-open",
      "probe",
      "refused",
    ]);
    breaker.failed();
    expect(breaker.state).toBe("open");
    pass(10_000);
    expect(breaker.enter()).toBe("probe");
    breaker.forgotten();
    expect(breaker.enter()).toBe("probe");
    breaker.succeeded();
    expect([breaker.state, breaker.enter(), breaker.enter()]).toEqual(["closed", "go", "go"]);
  });
});
