import { afterEach, expect, it, vi } from "vitest";
import { createScheduler } from "./index.ts";

afterEach(() => vi.unstubAllGlobals());

it("runs later, in order, where there is no setImmediate", async () => {
  vi.stubGlobal("setImmediate", undefined);
  const scheduler = createScheduler();
  const ran: string[] = [];
  await new Promise<void>((resolve) => {
    scheduler.macrotask(() => {
      ran.push("first");
      scheduler.microtask(() => ran.push("micro"));
    });
    scheduler.macrotask(() => {
      ran.push("second");
      scheduler.macrotask(resolve);
    });
    ran.push("now");
  });
  expect(ran).toEqual(["now", "first", "micro", "second"]);
});

it("timers that are numbers are canceled as well", () => {
  let cleared: unknown;
  vi.stubGlobal("setTimeout", () => 7);
  vi.stubGlobal("clearTimeout", (timer: unknown) => (cleared = timer));
  createScheduler().delay(1000, () => undefined)();
  expect(cleared).toBe(7);
});
