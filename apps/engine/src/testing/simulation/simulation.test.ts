import { describe, expect, it, type TestContext } from "vitest";
import { shrinkCase } from "./shrink.ts";
import { randomCase } from "./sim-case.ts";
import { configText } from "./sim-config.ts";
import { type SimCase, simulate } from "./simulate.ts";

const CASES = Math.max(1, Math.round(60 * Number(process.env.STACKWRIGHT_RUNS ?? 1)));
/** A fixed slice of seeds, and another one for runs that look for something new. */
const SLICE = process.env.STACKWRIGHT_SEED;
const FIRST = SLICE === undefined ? 1 : Math.imul(Number(SLICE), 0x9e3779b1) >>> 1;

describe("simulated runs", () => {
  it(
    "keep every promise, whatever dies, freezes, fails or gets lost",
    async ({ annotate }: TestContext) => {
      let casualties = 0;
      for (let seed = FIRST; seed < FIRST + CASES; seed += 1) {
        const given = randomCase(seed);
        const result = await simulate(given);
        casualties += result.casualties;
        if (result.violations.length > 0) await explain(given, result.violations);
      }
      await annotate(`${CASES} cases`, "count");
      await annotate(`${casualties} processes died or froze`, "count");
    },
    60_000 * Math.max(1, CASES / 60),
  );

  it("are equal for equal seeds", async () => {
    for (const seed of [3, 14, 29, 36]) {
      const [one, other] = [await simulate(randomCase(seed)), await simulate(randomCase(seed))];
      expect(one.trace.length).toBeGreaterThan(0);
      expect(other.trace).toEqual(one.trace);
    }
  });

  // Found by longer runs, each with what was wrong then.
  it.each([
    ["the wrong one of several deposed objects was deleted", 155],
    ["the wrong one of several deposed objects was deleted, under for_each", 602],
    ["a failed update was recorded with the dependencies of a successful one", 1497],
    ["what an object depends on that may exist was deleted", 1167],
  ])("keep what was mended: %s (seed %i)", async (_title, seed) => {
    expect((await simulate(randomCase(seed))).violations).toEqual([]);
  });

  it("do something", async () => {
    const result = await simulate(randomCase(5));
    expect(result.writes).toBeGreaterThan(10);
    expect(result.calls).toBeGreaterThan(3);
  });
});

/** Fails with the smallest case that still fails, as a test could keep it. */
async function explain(given: SimCase, violations: readonly string[]): Promise<never> {
  const small = await shrinkCase(given, async (candidate) => {
    const { violations: found } = await simulate(candidate);
    return found.length > 0;
  });
  const { violations: left } = await simulate(small);
  const texts = small.steps.map(({ config }) => configText(config).split("\n").slice(9).join("\n"));
  throw new Error(
    [
      `seed ${given.seed}: ${violations[0]}`,
      `smallest: ${left.join("; ")}`,
      JSON.stringify(small),
      ...texts,
    ].join("\n"),
  );
}
