import { expect, it, vi } from "vitest";
import { createRuntime, createScheduler, fromWatch, type WatchEvent } from "../index.ts";

it("waits shortly again after a watch that yielded something, however many failed before", async () => {
  const delays: number[] = [];
  const own = createScheduler();
  const scheduler = {
    ...own,
    random: () => 1,
    delay: (ms: number, run: () => void) => {
      delays.push(ms);
      return own.delay(0, run);
    },
  };
  using rt = createRuntime({ scheduler, onError: () => {} });
  let watches = 0;
  fromWatch<string>(rt, {
    list: () => ({ objects: ["a"], revision: "1" }),
    watch: async function* ({ signal }): AsyncIterable<WatchEvent<string>> {
      const number = ++watches;
      if (number === 4) yield { type: "bookmark", revision: "2" };
      if (number < 6) throw new Error("broken");
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    },
  });
  await vi.waitFor(() => expect(watches).toBe(6));
  expect(delays).toEqual([200, 400, 800, 200, 400]);
});
