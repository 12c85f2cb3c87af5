import type { RunLogEvent } from "@stackwright/client";
import { expect, it } from "vitest";
import { RunStore } from "./run-store.ts";

const COUNT = 20_000;

it("events that are all there at once leave the page time between them", async () => {
  const store = new RunStore((run) => void setImmediate(run));
  let now = 0;
  const client = {
    async *followRun(): AsyncGenerator<RunLogEvent> {
      for (let seq = 1; seq <= COUNT; seq += 1) {
        now += 0.1;
        yield { seq, at: seq, type: "log", address: "a", text: `line ${seq}` };
      }
    },
  };
  let isOver = false;
  let between = 0;
  const count = (): void => {
    between += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const place = { project: "p", stack: "s", run: "r" };
  await store.follow(client, place, new AbortController().signal, () => now);
  isOver = true;
  // 2,000 ms of work in parts of some milliseconds.
  expect(between).toBeGreaterThan(100);
  await expect.poll(() => store.snapshot().seq).toBe(COUNT);
});
