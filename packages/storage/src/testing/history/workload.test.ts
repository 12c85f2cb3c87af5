import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../../engine/memory.ts";
import { checkHistory } from "./check-history.ts";
import { runWorkload } from "./workload.ts";

const factor = Math.max(1, Math.round(Number(process.env.STACKWRIGHT_RUNS ?? 1)));

describe("random histories of the memory engine", () => {
  test("break no rule", async () => {
    for (let seed = 1; seed <= 5 * factor; seed += 1) {
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
  });
});
