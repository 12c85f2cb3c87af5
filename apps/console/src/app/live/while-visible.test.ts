import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { whileVisible } from "./while-visible.ts";

class Tab extends EventTarget {
  hidden = false;
  show(isShown: boolean): void {
    this.hidden = !isShown;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("a tab that is hidden for long has no stream, and one again when it is shown", () => {
  const tab = new Tab();
  vi.stubGlobal("document", tab);
  const streams: AbortSignal[] = [];
  const end = whileVisible(async (signal) => {
    streams.push(signal);
    return new Promise<void>(() => undefined);
  });
  const open = (): number => streams.filter(({ aborted }) => !aborted).length;
  expect(open()).toBe(1);
  // A look at another tab costs nothing.
  tab.show(false);
  vi.advanceTimersByTime(14_000);
  tab.show(true);
  vi.advanceTimersByTime(60_000);
  expect([streams.length, open()]).toEqual([1, 1]);
  tab.show(false);
  vi.advanceTimersByTime(15_000);
  expect(open()).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
  tab.show(true);
  expect([streams.length, open()]).toEqual([2, 1]);
  end();
  expect(open()).toBe(0);
  tab.show(false);
  tab.show(true);
  expect(streams).toHaveLength(2);
});
