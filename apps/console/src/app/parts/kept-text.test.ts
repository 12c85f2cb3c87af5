import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { KeptText } from "./kept-text.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function kept(given: string) {
  const text = new KeptText(given);
  const writes: string[] = [];
  const shown: string[] = [];
  text.subscribe(() => shown.push(text.value()));
  const type = (next: string): void => text.type(next, (value) => writes.push(value));
  return { text, type, writes, shown };
}

it("shows each key at once, and writes what was typed once", () => {
  const { type, writes, shown } = kept("");
  for (const next of ["f", "fo", "foo"]) {
    type(next);
    vi.advanceTimersByTime(199);
  }
  expect(writes).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(writes).toEqual(["foo"]);
  expect(shown).toEqual(["f", "fo", "foo"]);
});

it("follows an address that was changed from outside, and writes nothing over it", () => {
  const { text, type, writes } = kept("foo");
  type("food");
  text.follow("");
  expect(text.value()).toBe("");
  vi.runAllTimers();
  expect(writes).toEqual([]);
  text.follow("bar");
  expect(text.value()).toBe("bar");
});

it("keeps what is typed while the address says what was written before", () => {
  const { text, type, writes } = kept("");
  type("a");
  vi.runAllTimers();
  type("ab");
  vi.runAllTimers();
  type("abc");
  text.follow("a");
  text.follow("ab");
  expect(text.value()).toBe("abc");
  vi.runAllTimers();
  expect(writes).toEqual(["a", "ab", "abc"]);
});

it("writes nothing where the address says it, after its page has ended, and without a name", () => {
  const { text, type, writes } = kept("a");
  type("ab");
  type("a");
  vi.runAllTimers();
  type("abc");
  text.end();
  text.type("abcd", undefined);
  vi.runAllTimers();
  expect(writes).toEqual([]);
  expect(text.value()).toBe("abcd");
});
