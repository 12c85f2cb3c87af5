import { createRuntime } from "@stackwright/krt";
import { expect, it, onTestFinished } from "vitest";
import { EventLog } from "./event-log.ts";

it("keeps the last changes of each object, without those that a collection began with", async () => {
  const rt = createRuntime();
  onTestFinished(() => rt.dispose());
  const stacks = rt.source<{ readonly name: string; readonly value: number }>([], {
    synced: false,
    name: "stacks",
  });
  const names = rt.derive(stacks, (_ctx, { name }) => name, { name: "names" });
  let now = 1_000;
  using log = new EventLog(rt, { capacity: 3, nowMs: () => now });
  stacks.set({ name: "a", value: 1 });
  stacks.markSynced();
  await Promise.all([stacks.whenSynced(), names.whenSynced(), rt.settled()]);
  expect(log.eventsOf("stacks", "a")).toEqual([]);

  const turn = async (write: () => void): Promise<void> => {
    write();
    await rt.settled();
    now += 1;
  };
  await turn(() => stacks.set({ name: "a", value: 2 }));
  await turn(() => stacks.set({ name: "b", value: 1 }));
  // A name that stays the same is no change.
  expect(log.eventsOf("names", "a")).toEqual([]);
  expect(log.eventsOf("names", "b")).toMatchObject([{ type: "add", atMs: 1_001 }]);
  await turn(() => stacks.set({ name: "b", value: 2 }));
  const [update, add] = log.eventsOf("stacks", "b");
  expect([update, add]).toMatchObject([
    { type: "update", atMs: 1_002 },
    { type: "add", atMs: 1_001 },
  ]);
  expect(update?.turn).toBeGreaterThan(add?.turn ?? Infinity);
  // The oldest one has left.
  expect(log.eventsOf("stacks", "a")).toEqual([]);
});

it("follows nothing after its end", async () => {
  const rt = createRuntime();
  onTestFinished(() => rt.dispose());
  const source = rt.source<string>([], { name: "words" });
  const log = new EventLog(rt, { capacity: 3, nowMs: () => 0 });
  await rt.settled();
  log[Symbol.dispose]();
  source.set("a");
  await rt.settled();
  expect(log.eventsOf("words", "a")).toEqual([]);
});
