import { expect, it } from "vitest";
import { judgeClock } from "./judge-clock.ts";

const HOUR_MS = 3_600_000;
/** A clock that is ahead by so much, within some seconds. */
const at = (aheadMs: number) => ({ leastMs: aheadMs - 6_000, mostMs: aheadMs + 6_000 });

it("believes a server that is alone", () => {
  expect(judgeClock(2 * HOUR_MS, [])).toEqual({
    skewMs: undefined,
    isDisputed: false,
    mayReact: true,
  });
});

it.each([2 * HOUR_MS, -2 * HOUR_MS])("knows a server that is %i ms ahead of two others", (own) => {
  const skewMs = own - Math.sign(own) * 6_000;
  expect(judgeClock(own, [at(0), at(1_000)])).toMatchObject({ isDisputed: false, mayReact: false });
  expect(judgeClock(own, [at(0), at(0)]).skewMs).toBe(skewMs);
  expect(judgeClock(0, [at(own), at(0)])).toEqual({ skewMs: 0, isDisputed: false, mayReact: true });
});

it.each([
  ["two", 0, [2 * HOUR_MS]],
  ["two pairs", 0, [0, 2 * HOUR_MS, 2 * HOUR_MS]],
  ["three that all differ", 0, [HOUR_MS, 2 * HOUR_MS]],
])("of %s lets those react that are ahead of none", (_, own, others) => {
  expect(judgeClock(own, others.map(at))).toMatchObject({ isDisputed: true, mayReact: true });
  const [last = 0] = others.slice(-1);
  const swapped = [own, ...others.slice(0, -1)];
  expect(judgeClock(last, swapped.map(at))).toEqual({
    skewMs: last - own - 6_000,
    isDisputed: true,
    mayReact: false,
  });
});

it("takes what is not known well enough for no difference", () => {
  const wide = { leastMs: -50_000, mostMs: 2 * HOUR_MS };
  expect(judgeClock(0, [wide])).toEqual({ skewMs: 0, isDisputed: false, mayReact: true });
  expect(judgeClock(59_000, [at(-6_000)])).toMatchObject({ isDisputed: false, mayReact: true });
  expect(judgeClock(60_000, [at(-6_000)])).toMatchObject({ isDisputed: true, mayReact: false });
});
