import { describe, expect, test } from "vitest";
import { createUlidGenerator, isUlid, ulidTime } from "./ulid.ts";

describe("the ULID generator", () => {
  test("encodes the time of the clock", () => {
    const next = createUlidGenerator({
      wallMs: () => 1_469_918_176_385,
      randomBytes: (count) => new Uint8Array(count),
    });
    // The time of the example in the ULID specification.
    expect(next()).toBe("01ARYZ6S410000000000000000");
    expect(ulidTime("01ARYZ6S410000000000000000")).toBe(1_469_918_176_385);
  });

  test("rises strictly within a millisecond and while the clock goes back", () => {
    let now = 1_000;
    const next = createUlidGenerator({ wallMs: () => now });
    const made: string[] = [];
    for (let count = 0; count < 5_000; count += 1) {
      if (count % 1_000 === 0) now -= 1;
      made.push(next());
    }
    expect(made.every(isUlid)).toBe(true);
    expect(made).toEqual(made.toSorted());
    expect(new Set(made).size).toBe(made.length);
  });

  test("continues in the next millisecond when the random part overflows", () => {
    const next = createUlidGenerator({
      wallMs: () => 5,
      randomBytes: (count) => new Uint8Array(count).fill(31),
    });
    const first = next();
    const second = next();
    expect(second > first).toBe(true);
    expect(ulidTime(second)).toBe(6);
  });

  test("distinguishes ULIDs from other texts", () => {
    for (const text of ["", "01aryz6s410000000000000000", "8".repeat(26), "0".repeat(25), "I"]) {
      expect(isUlid(text)).toBe(false);
    }
  });
});
