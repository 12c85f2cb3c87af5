import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../../engine/memory.ts";
import { runFactor, runSeeds } from "../run-scale.ts";
import { checkHistory } from "./check-history.ts";
import { runWorkload } from "./workload.ts";

describe("random histories of the memory engine", () => {
  test(
    "break no rule",
    async () => {
      for (const seed of runSeeds(5)) {
        await using storage = createMemoryStorage();
        const history = await runWorkload({ instances: [storage], seed, watches: 4 });
        expect(checkHistory(history), `seed ${seed}`).toEqual([]);
        // A run in which next to nothing succeeds would prove nothing.
        const acknowledged = history.writes.filter((write) => write.result.kind === "ok");
        const refused = history.writes.filter((write) => write.result.kind === "refused");
        expect(acknowledged.length).toBeGreaterThan(100);
        expect(refused.length).toBeGreaterThan(30);
        expect(history.watches.some((watch) => watch.resumes !== undefined)).toBe(true);
      }
    },
    30_000 * runFactor(),
  );
});
