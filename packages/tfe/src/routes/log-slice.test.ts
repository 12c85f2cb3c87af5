import fc from "fast-check";
import { expect, it } from "vitest";
import { logSlice } from "./log-slice.ts";

/** A log whose readers begin at the last part that they need. */
function textOf(parts: readonly string[], isComplete: boolean) {
  return async (offset: number) => {
    let from = 0;
    let first = 0;
    for (const part of parts) {
      if (from + Buffer.byteLength(part) > offset) break;
      from += Buffer.byteLength(part);
      first += 1;
    }
    async function* text() {
      yield* parts.slice(first);
      return isComplete;
    }
    return { from, text: text() };
  };
}

const PARTS = ["one\n", "", "zwei ü\n", "x".repeat(100), "\n"];
const WHOLE = `\u0002${PARTS.join("")}\u0003`;

it.each([1, 2, 3, 7, 64, 65_536])("gives a log in slices of %d bytes as it is", async (limit) => {
  const slices: Buffer[] = [];
  for (let offset = 0; ; ) {
    const slice = await logSlice(textOf(PARTS, true), { offset, limit });
    if (slice.byteLength === 0) break;
    expect(slice.byteLength).toBeLessThanOrEqual(limit);
    slices.push(slice);
    offset += slice.byteLength;
  }
  expect(Buffer.concat(slices).toString("utf8")).toBe(WHOLE);
});

it("begins the frame at once, and ends it with the log alone", async () => {
  const slice = async (parts: readonly string[], isComplete: boolean): Promise<string> =>
    (await logSlice(textOf(parts, isComplete), { offset: 0, limit: 100 })).toString("utf8");
  expect(await slice([], false)).toBe("\u0002");
  expect(await slice(["a"], false)).toBe("\u0002a");
  expect(await slice(["a"], true)).toBe("\u0002a\u0003");
  expect((await logSlice(textOf(["a"], true), { offset: 50, limit: 10 })).byteLength).toBe(0);
});

it("gives a log as it is in slices of any sizes, that begin and end within a character", async () => {
  const part = fc.array(fc.constantFrom("x", "ü", "漢", "😀", "\n"), { maxLength: 8 });
  const texts = fc.array(
    part.map((characters) => characters.join("")),
    { maxLength: 8 },
  );
  const limits = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(texts, limits, async (parts, sizes) => {
      const whole = Buffer.from(`\u0002${parts.join("")}\u0003`);
      const slices: Buffer[] = [];
      let offset = 0;
      for (;;) {
        const limit = sizes[slices.length % sizes.length] ?? 1;
        const slice = await logSlice(textOf(parts, true), { offset, limit });
        expect(slice.byteLength).toBe(Math.min(limit, whole.byteLength - offset));
        if (slice.byteLength === 0) break;
        slices.push(slice);
        offset += slice.byteLength;
      }
      expect(Buffer.concat(slices).equals(whole)).toBe(true);
    }),
  );
});
