import { expect, it, vi } from "vitest";
import {
  createRuntime,
  createScheduler,
  fromWatch,
  type ListWatcher,
  type Scheduler,
  type SourceWatchEvent,
} from "../index.ts";

/** A scheduler that notes delays, and lets none last, except that its clock shows them. */
function impatientScheduler(): {
  scheduler: Scheduler;
  delays: number[];
  pass: (ms: number) => void;
} {
  const delays: number[] = [];
  const own = createScheduler();
  let passed = 0;
  const scheduler: Scheduler = {
    ...own,
    now: () => passed,
    random: () => 1,
    delay: (ms, run) => {
      delays.push(ms);
      passed += ms;
      return own.delay(0, run);
    },
  };
  return {
    scheduler,
    delays,
    pass: (ms) => {
      passed += ms;
    },
  };
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

it("waits shortly again after a watch that yielded a change, however many failed before", async () => {
  const { scheduler, delays } = impatientScheduler();
  using rt = createRuntime({ scheduler, onError: () => {} });
  let watches = 0;
  fromWatch<string>(rt, {
    list: () => ({ objects: ["a"], revision: "1" }),
    watch: async function* ({ signal }): AsyncIterable<SourceWatchEvent<string>> {
      const number = ++watches;
      if (number === 4) yield { type: "set", object: "b", revision: "2" };
      if (number < 6) throw new Error("broken");
      await untilAborted(signal);
    },
  });
  await vi.waitFor(() => expect(watches).toBe(6));
  expect(delays).toEqual([200, 400, 800, 200, 400]);
});

/** Sources whose watches end by themselves, at once, without anything new. */
const IDLE: Record<string, (next: () => void) => ListWatcher<string, number>> = {
  "after a bookmark": (next) => ({
    list: () => ({ objects: ["a"], revision: 1 }),
    watch: async function* ({ from = 0 }) {
      next();
      yield { type: "bookmark", revision: from + 1 };
    },
  }),
  "after a change that it yielded before": (next) => ({
    list: () => ({ objects: ["a"], revision: 1 }),
    watch: async function* () {
      next();
      yield { type: "set", object: "b", revision: 1 };
    },
  }),
  "after the initial objects, without revisions": (next) => ({
    watch: async function* () {
      next();
      yield { type: "set", object: "a" };
      yield { type: "synced" };
    },
  }),
  "and are begun before the list": (next) => ({
    order: "watch-first",
    list: () => ({ objects: ["a"] }),
    watch: async function* () {
      next();
      yield { type: "set", object: "b" };
    },
  }),
  "and have no revisions": (next) => ({
    list: () => ({ objects: ["a"] }),
    watch: async function* () {
      next();
      yield { type: "set", object: "b" };
    },
  }),
};

it.each(Object.keys(IDLE))("waits longer and longer for watches that end %s", async (name) => {
  const { scheduler, delays } = impatientScheduler();
  using rt = createRuntime({ scheduler });
  let watches = 0;
  const source = IDLE[name]?.(() => watches++);
  const keys = fromWatch(rt, source as ListWatcher<string, number>, {
    backoff: { initialMs: 10, maxMs: 80 },
  });
  await vi.waitFor(() => expect(delays.length).toBeGreaterThan(4));
  expect(delays.slice(0, 5)).toEqual([10, 20, 40, 80, 80]);
  expect(watches).toBeLessThanOrEqual(delays.length + 1);
  expect(keys.synced).toBe(true);
});

it("begins the next watch at once after one that ended with a change", async () => {
  const { scheduler, delays } = impatientScheduler();
  using rt = createRuntime({ scheduler });
  const numbers = fromWatch<{ key: string; n: number }, number>(rt, {
    list: () => ({ objects: [], revision: 0 }),
    watch: async function* ({ signal, from = 0 }) {
      if (from === 5) await untilAborted(signal);
      else yield { type: "set", object: { key: "a", n: from + 1 }, revision: from + 1 };
    },
  });
  await vi.waitFor(() => expect(numbers.get("a")?.n).toBe(5));
  expect(delays).toEqual([]);
});

it("waits shortly after each of many watches that lasted long without a change", async () => {
  const { scheduler, delays, pass } = impatientScheduler();
  using rt = createRuntime({ scheduler });
  let watches = 0;
  fromWatch<string, number>(rt, {
    list: () => ({ objects: [], revision: 0 }),
    watch: async function* ({ signal }) {
      if (++watches === 5) await untilAborted(signal);
      pass(60_000);
      yield { type: "bookmark", revision: watches };
    },
  });
  await vi.waitFor(() => expect(watches).toBe(5));
  expect(delays).toEqual([200, 200, 200, 200]);
});
