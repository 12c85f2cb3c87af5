import { describe, expect, it } from "vitest";
import { spanPlaceOf, traceParentOf, traceStateOf } from "./trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

describe("a trace parent", () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    // Flags that are not known say nothing.
    [`00-${TRACE}-${SPAN}-03`, true],
    [`00-${TRACE}-${SPAN}-02`, false],
    // A later version may have more behind the flags.
    [`01-${TRACE}-${SPAN}-01-what-the-future-will-be-like`, true],
    [`cc-${TRACE}-${SPAN}-00`, false],
  ])("%s is read, with what its sampled flag says", (text, isSampled) => {
    const place = spanPlaceOf(text);
    expect(place).toMatchObject({ traceId: TRACE, spanId: SPAN });
    expect(place?.isSampled ?? true).toBe(isSampled);
    if (place !== undefined) {
      expect(traceParentOf(place)).toBe(`00-${TRACE}-${SPAN}-${isSampled ? "01" : "00"}`);
    }
  });

  it.each([
    "",
    `ff-${TRACE}-${SPAN}-01`,
    `ff-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01-`,
    `01-${TRACE}-${SPAN}-01.more`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}`,
    ` 00-${TRACE}-${SPAN}-01`,
  ])("%j is none", (text) => {
    expect(spanPlaceOf(text)).toBeUndefined();
  });
});

describe("a trace state", () => {
  it.each([
    ["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"],
    [" a=1 ,\t, b@vendor=2,", "a=1,b@vendor=2"],
    ["", undefined],
    ["a", undefined],
    ["A=1", undefined],
    ["a=1,a=2", undefined],
    ["a=1=2", undefined],
    [Array.from({ length: 33 }, (_, at) => `k${at}=v`).join(","), undefined],
    [`a=${"v".repeat(250)},b=${"v".repeat(250)},c=${"v".repeat(50)}`, undefined],
  ])("%j is %j", (text, state) => {
    expect(traceStateOf(text)).toBe(state);
  });
});
