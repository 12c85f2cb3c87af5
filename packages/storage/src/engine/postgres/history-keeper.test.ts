import { setImmediate as turn } from "node:timers/promises";
import { systemClock } from "@stackwright/base/clock";
import { expect, test } from "vitest";
import type { Connections } from "./connections.ts";
import { HistoryKeeper } from "./history-keeper.ts";

test("ends behind the batch that is under way, however much is to be forgotten", async () => {
  const batches: number[] = [];
  const connections = {
    run: async (kind: "read" | "write") => {
      await turn();
      if (kind === "read") return [{ fitting: "2000", events: "1", bytes: "1", age: null }];
      batches.push(2_000);
      return [{ deleted: "2000" }];
    },
  } as unknown as Connections;
  const keeper = new HistoryKeeper({
    connections,
    bounds: { events: 1, bytes: 1, maxAgeMs: undefined },
    clock: systemClock,
    logger: undefined,
    before: async () => Promise.resolve(1_000_000_000),
  });
  keeper.committed({ events: 1, bytes: 1 });
  while (batches.length < 3) await turn();
  await keeper.stop();
  const ended = batches.length;
  await turn();
  expect(batches).toHaveLength(ended);
});
