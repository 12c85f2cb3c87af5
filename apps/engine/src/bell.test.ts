import { expect, it } from "vitest";
import { Bell } from "./bell.ts";

it("wakes all who wait, and no one is waiting afterwards", async () => {
  const bell = new Bell();
  const waiting = Promise.all([bell.rung(never()), bell.rung(never())]);
  expect(bell.isAwaited).toBe(true);
  bell.ring();
  await waiting;
  expect(bell.isAwaited).toBe(false);
});

it("lets those go whose signal aborts, before the call or during it", async () => {
  const bell = new Bell();
  await bell.rung(AbortSignal.abort());
  const leaving = new AbortController();
  const left = bell.rung(leaving.signal);
  leaving.abort();
  await left;
  expect(bell.isAwaited).toBe(false);
});

function never(): AbortSignal {
  return new AbortController().signal;
}
