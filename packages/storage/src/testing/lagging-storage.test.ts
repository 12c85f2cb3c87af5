import { describe, expect, test } from "vitest";
import { describeStorage } from "./describe-storage.ts";
import { checkHistory } from "./history/check-history.ts";
import { runWorkload } from "./history/workload.ts";
import { LAGGING_CAPABILITIES, LaggingStorage } from "./lagging-storage.ts";
import { runFactor, runSeeds } from "./run-scale.ts";

describeStorage(
  "a store whose eventual reads lag",
  async () => ({
    open: async (options) => new LaggingStorage(1, 3, options),
    [Symbol.asyncDispose]: async () => undefined,
  }),
  LAGGING_CAPABILITIES,
);

describe("random histories of a store whose eventual reads lag", () => {
  test(
    "break no rule",
    async () => {
      for (const seed of runSeeds(3)) {
        await using storage = new LaggingStorage(seed, 3);
        const history = await runWorkload({ instances: [storage], seed });
        expect(checkHistory(history), `seed ${seed}`).toEqual([]);
      }
    },
    30_000 * runFactor(),
  );
});
