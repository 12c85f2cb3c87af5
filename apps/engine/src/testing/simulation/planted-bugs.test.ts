import { describe, expect, it } from "vitest";
import { BUGS } from "./planted-bugs.ts";
import { randomCase } from "./sim-case.ts";
import { simulateRuns } from "./simulate.ts";

/** Tried when the seed that is known to find a bug does not do so any more. */
const SEEDS = Array.from({ length: 200 }, (_, index) => index + 1);

describe("the simulation of runs", () => {
  it.each(BUGS)(
    "finds %s",
    async (_title, rules, known, sabotage) => {
      const found = new Set<number>();
      for (const seed of [known, ...SEEDS]) {
        const { violations } = await simulateRuns(randomCase(seed), sabotage());
        for (const violation of violations) found.add(Number.parseInt(violation, 10));
        if (rules.some((rule) => found.has(rule))) return;
      }
      const others = [...found].join(" ") || "nothing";
      expect.fail(`not found in ${SEEDS.length} cases, which violate ${others}`);
    },
    120_000,
  );
});
