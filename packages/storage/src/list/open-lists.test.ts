import { createManualClock } from "@stackwright/base/testing";
import { expect, test } from "vitest";
import { assertCode } from "../testing/assertions.ts";
import { OpenLists } from "./open-lists.ts";

function openLists() {
  const clock = createManualClock();
  const released: string[] = [];
  const bounds = { most: 2, idleMs: 1_000, lifeMs: 5_000 };
  const lists = new OpenLists<string>(bounds, (view) => void released.push(view), clock);
  return { clock, released, lists };
}

test("a list is held for its idle time and released after it", async () => {
  const { clock, released, lists } = openLists();
  const name = lists.open("q", "a");
  await clock.advance(1_000);
  expect(lists.useNow(name, "q", (view) => view)).toBe("a");
  clock.skip(1_001);
  expect(() => lists.useNow(name, "q", (view) => view)).toThrow("the list was ended");
  expect(released).toEqual(["a"]);
});

test("an idle list is released without another call", async () => {
  const { clock, released, lists } = openLists();
  lists.open("q", "a");
  await clock.advance(1_500);
  expect(released).toEqual(["a"]);
  expect(clock.pending).toBe(0);
});

test("a list that is in use again and again ends with its life time", async () => {
  const { clock, released, lists } = openLists();
  const name = lists.open("q", "a");
  for (let step = 0; step < 5; step += 1) {
    await clock.advance(1_000);
    lists.useNow(name, "q", (view) => view);
  }
  await clock.advance(300);
  expect(released).toEqual(["a"]);
});

test("one list more than the most ends the one that waits for the longest time", () => {
  const { clock, released, lists } = openLists();
  const first = lists.open("q", "a");
  clock.skip(1);
  lists.open("q", "b");
  clock.skip(1);
  lists.useNow(first, "q", (view) => view);
  lists.open("q", "c");
  expect(released).toEqual(["b"]);
  expect(lists.size).toBe(2);
});

test("lists in use are not ended for others, and a list that is ended in use is released after it", async () => {
  const { released, lists } = openLists();
  const names = [lists.open("q", "a"), lists.open("q", "b")];
  const finish = Promise.withResolvers<void>();
  const pages = names.map((name) => lists.use(name, "q", () => finish.promise));
  await assertCode(
    Promise.resolve().then(() => lists.open("q", "c")),
    "STORAGE_INCONSISTENT",
  );
  lists.endAll();
  expect(released).toEqual([]);
  finish.resolve();
  await Promise.all(pages);
  expect(released.toSorted()).toEqual(["a", "b"]);
});

test("a list answers to its own query only", () => {
  const { lists } = openLists();
  const name = lists.open("q", "a");
  expect(() => lists.useNow(name, "other", (view) => view)).toThrow("the list was ended");
  expect(lists.useNow(name, "q", (view) => view)).toBe("a");
});

test("nothing is held after the close", async () => {
  const { clock, released, lists } = openLists();
  lists.open("q", "a");
  lists.close();
  expect(released).toEqual(["a"]);
  expect(clock.pending).toBe(0);
  await assertCode(
    Promise.resolve().then(() => lists.open("q", "b")),
    "STORAGE_INCONSISTENT",
  );
});
