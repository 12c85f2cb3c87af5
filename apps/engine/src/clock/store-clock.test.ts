import { createManualClock } from "@stackwright/base/testing";
import pino from "pino";
import { expect, it } from "vitest";
import { StoreClock } from "./store-clock.ts";

function start(aheadMs: number, tookMs = 0) {
  const monotonic = createManualClock();
  const jumped = { byMs: 0 };
  const clock = { ...monotonic, wallMs: () => monotonic.wallMs() + jumped.byMs };
  const warnings: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void warnings.push(line) });
  const store = { reads: 0, isAway: false, aheadMs };
  const one = new StoreClock({
    clock,
    logger,
    storeMs: async () => {
      store.reads += 1;
      if (store.isAway) throw new Error("away");
      clock.skip(tookMs / 2);
      const now = monotonic.wallMs() - store.aheadMs;
      clock.skip(tookMs / 2);
      return now;
    },
  });
  return { one, store, clock, jumped, warnings };
}

it.each([90_000, -90_000])("warns of a server that is %i ms ahead of its store", async (skew) => {
  const { one, warnings } = start(skew);
  expect(await one.skewMs()).toBe(skew);
  expect(warnings).toHaveLength(1);
  expect(JSON.parse(warnings[0] ?? "")).toMatchObject({ skewMs: skew });
});

it("takes a slow call for no difference", async () => {
  const { one, warnings } = start(1_500, 4_000);
  expect(await one.skewMs()).toBe(0);
  expect(warnings).toEqual([]);
});

it("asks once a minute, and keeps the last value while the store is away", async () => {
  const { one, store, clock } = start(3_000);
  await Promise.all([one.skewMs(), one.skewMs()]);
  expect(store.reads).toBe(1);
  clock.skip(61_000);
  store.isAway = true;
  expect(await one.skewMs()).toBe(3_000);
  store.isAway = false;
  store.aheadMs = 0;
  expect(await one.skewMs()).toBe(0);
  expect(store.reads).toBe(3);
});

it("sees a jump of its own clock at once, also while the store is away", async () => {
  const { one, store, jumped } = start(0);
  expect(await one.skewMs()).toBe(0);
  store.isAway = true;
  jumped.byMs = 3_600_000;
  expect(await one.skewMs()).toBe(3_600_000);
  store.isAway = false;
  expect(await one.skewMs()).toBe(3_600_000);
  expect(store.reads).toBe(3);
  expect(await one.skewMs()).toBe(3_600_000);
  expect(store.reads).toBe(3);
  jumped.byMs = 0;
  expect(await one.skewMs()).toBe(0);
});

it("says nothing where the store has the clock of the server", async () => {
  const { clock } = start(0);
  const logger = pino({ level: "silent" });
  expect(await new StoreClock({ clock, logger, storeMs: undefined }).skewMs()).toBeUndefined();
});
