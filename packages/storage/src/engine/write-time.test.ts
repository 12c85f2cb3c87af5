import { expect, it } from "vitest";
import { writeTimeMs } from "./write-time.ts";

const MIB = 1024 * 1024;

it("gives a write more time by its bytes, up to five times as much at the limit of a batch", () => {
  expect(writeTimeMs(10_000, 0)).toBe(10_000);
  expect(writeTimeMs(10_000, 1)).toBe(10_001);
  expect(writeTimeMs(10_000, 8 * MIB)).toBe(20_000);
  expect(writeTimeMs(10_000, 20 * MIB)).toBe(35_000);
  expect(writeTimeMs(10_000, 32 * MIB)).toBe(50_000);
});
