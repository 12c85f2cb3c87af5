import { describe, expect, it, type TestContext } from "vitest";
import { shrinkCase } from "./shrink-case.ts";
import { randomCase, type SimCase } from "./sim-case.ts";
import { simulateRuns } from "./simulate.ts";

const CASES = Math.max(1, Math.round(200 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1)));
/** A fixed slice of seeds, and another one for runs that look for something new. */
const SLICE = process.env["STACKWRIGHT_SEED"];
const FIRST = SLICE === undefined ? 1 : Math.imul(Number(SLICE), 0x9e3779b1) >>> 1;

describe("simulated runs of several servers", () => {
  it(
    "keep every promise, whatever dies, stands still or gets lost",
    async ({ annotate }: TestContext) => {
      let runs = 0;
      let deaths = 0;
      const ends = new Set<string>();
      for (let seed = FIRST; seed < FIRST + CASES; seed += 1) {
        const given = randomCase(seed);
        const result = await simulateRuns(given);
        runs += result.runs;
        deaths += result.deaths;
        for (const end of result.ends.keys()) ends.add(end);
        if (result.violations.length > 0) await explain(given, result.violations);
      }
      // The cases go far enough to mean something.
      expect(ends.size).toBeGreaterThan(4);
      expect(runs).toBeGreaterThan(CASES);
      await annotate(`${CASES} cases of several servers`, "count");
      await annotate(`${runs} runs of them`, "count");
      await annotate(`${deaths} servers and executors that died`, "count");
    },
    600_000 * Math.max(1, CASES / 200),
  );

  // Found by longer runs, each with what was wrong then.
  it.each([
    ["a run that was canceled as its turn came kept a ticket", 640],
    ["a run of a plan set began to be applied once the set had ended", 1833],
    ["two servers that requested one run of a plan set wrote it twice in a batch", 218],
    ["the apply of a run of a schedule waited for the plans of others", 1907157081],
    ["an approval was refused as late, and given by an attempt that landed later", 773578908],
    ["a set was applied of which a run was discarded, as its stack was deleted then", 266625414],
    ["a step that was begun late counted for the claim after its own", 1593842862],
  ])("keep what was repaired: %s (seed %i)", async (_title, seed) => {
    expect((await simulateRuns(randomCase(seed))).violations).toEqual([]);
  });

  it("are equal for equal seeds", async () => {
    for (const seed of [14, 29, 203]) {
      const [one, other] = [
        await simulateRuns(randomCase(seed)),
        await simulateRuns(randomCase(seed)),
      ];
      expect(one.trace.length).toBeGreaterThan(0);
      expect(other.trace).toEqual(one.trace);
    }
  });
});

/** Fails with the seed and the smallest case that shows the same. */
async function explain(given: SimCase, violations: readonly string[]): Promise<void> {
  const [rule] = (violations[0] ?? "").split(":");
  const smallest = await shrinkCase(given, async (candidate) => {
    const found = (await simulateRuns(candidate)).violations;
    return found.some((violation) => violation.startsWith(`${rule}:`));
  });
  const { violations: left, trace } = await simulateRuns(smallest);
  expect.fail(
    [
      `seed ${given.seed}:`,
      ...violations,
      "the smallest case:",
      JSON.stringify(smallest),
      ...left,
      "its history:",
      ...trace,
    ].join("\n"),
  );
}
