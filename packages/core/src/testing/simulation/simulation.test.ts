import { describe, expect, it, type TestContext } from "vitest";
import { shrinkCase } from "./shrink.ts";
import { randomCase } from "./sim-case.ts";
import { configText, type SimConfig } from "./sim-config.ts";
import { withLeases } from "./sim-leases.ts";
import { NO_STORE_FAULTS } from "./sim-store.ts";
import { withWays } from "./sim-ways.ts";
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

  it(
    "keep every promise with values that must not be kept",
    async ({ annotate }: TestContext) => {
      const cases = Math.ceil(CASES / 2);
      let opened = 0;
      for (let seed = FIRST; seed < FIRST + cases; seed += 1) {
        const given = withLeases(randomCase(seed));
        const result = await simulate(given);
        opened += result.trace.filter((line) => line.startsWith("call open")).length;
        if (result.violations.length > 0) await explain(given, result.violations);
      }
      expect(opened).toBeGreaterThan(cases);
      await annotate(`${cases} cases with ephemeral values`, "count");
    },
    60_000 * Math.max(1, CASES / 60),
  );

  it(
    "keep every promise with partial, kept and rival plans, drift and moves",
    async ({ annotate }: TestContext) => {
      let stale = 0;
      for (let seed = FIRST; seed < FIRST + CASES; seed += 1) {
        const given = withWays(randomCase(seed));
        const result = await simulate(given);
        stale += result.outcomes.filter((outcome) => outcome === "ENGINE_PLAN_STALE").length;
        if (result.violations.length > 0) await explain(given, result.violations);
      }
      expect(stale).toBeGreaterThan(0);
      await annotate(`${CASES} cases by other ways, ${stale} stale plans`, "count");
    },
    60_000 * Math.max(1, CASES / 60),
  );

  it("are equal for equal seeds", async () => {
    for (const seed of [3, 14, 29, 36]) {
      const given = seed % 2 === 0 ? withLeases(randomCase(seed)) : withWays(randomCase(seed));
      const [one, other] = [await simulate(given), await simulate(given)];
      expect(one.trace.length).toBeGreaterThan(0);
      expect(other.trace).toEqual(one.trace);
    }
  });

  // Found by longer runs, each with what was wrong then.
  it.each([
    ["the wrong one of several deposed objects was deleted", 155],
    ["the wrong one of several deposed objects was deleted, under for_each", 602],
    ["a failed update was recorded with the dependencies of a successful one", 1497],
    ["what a deposed object depends on that had to stay was deleted", 30961],
    ["a fence that moved while an answer was lost was taken for an intruder", 10065],
    ["what an object depends on that may exist was deleted", 1167],
    ["what something needs that a plan leaves out was deleted", 352252135],
    ["what something let go of was kept for what a plan leaves out", 1902378014],
    [
      "what was recorded of an update whose answer died with its worker was taken for its needs",
      1172518547,
    ],
  ])("keep what was repaired: %s (seed %i)", async (_title, seed) => {
    expect((await simulate(randomCase(seed))).violations).toEqual([]);
  });

  it.each([
    ["a stack was stuck where an object moved whose dependency was being replaced", 841],
    ["what an unresolved object is to replace was deleted when its resource moved", 669],
    ["a refresh did not end where something was gone that others depend on", 78],
    ["a move was blocked by what a partial plan had made at its destination", 15],
    ["what moved was deleted while something that a plan leaves out needed it", 1503609766],
    ["what drifted while a process was frozen was taken for what its apply had left", 72987284],
  ])("keep what was repaired, by other ways: %s (seed %i)", async (_title, seed) => {
    expect((await simulate(withWays(randomCase(seed)))).violations).toEqual([]);
  });

  it("delete early what waits for a replacement, while others still depend on it by record", async () => {
    const base = { type: "model_thing", createFirst: false, repeat: ["a"], secret: false } as const;
    const first = (name: string) => [{ name, how: "first" }] as const;
    const before: SimConfig = [
      { ...base, name: "z", size: 0, kind: 0, needs: [] },
      { ...base, name: "y", size: 0, kind: 0, needs: first("z") },
      { ...base, name: "x", size: 0, kind: 0, needs: first("y") },
    ];
    // y goes, x lets go of it and needs z instead, and z is replaced destroy-first: so y has to go before x lets go.
    const after: SimConfig = [
      { ...base, name: "z", size: 0, kind: 1, needs: [] },
      { ...base, name: "x", size: 1, kind: 0, needs: first("z") },
    ];
    const calm = { destroy: false, cloud: {}, delayMs: 5, store: NO_STORE_FAULTS };
    const steps = [before, after].map((config) => ({ ...calm, config }));
    const { violations, trace } = await simulate({
      seed: 1,
      limits: { parallelism: 4, perType: 4 },
      steps,
    });
    expect(violations).toEqual([]);
    expect(
      trace
        .filter((line) => /^call (create|update|delete)/.test(line))
        .map((line) => line.split(" ")[1]),
    ).toEqual(["create", "create", "create", "delete", "delete", "create", "update"]);
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
  const texts = small.steps.map(({ config, leases, moves }) =>
    configText(config, leases, moves).split("\n").slice(9).join("\n"),
  );
  throw new Error(
    [
      `seed ${given.seed}: ${violations[0]}`,
      `smallest: ${left.join("; ")}`,
      JSON.stringify(small),
      ...texts,
    ].join("\n"),
  );
}
