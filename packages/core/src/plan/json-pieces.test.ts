import { expect, it } from "vitest";
import { jsonPieces } from "./json-pieces.ts";

const long = "A".repeat(100_000);
const text = (value: unknown): string => [...jsonPieces(value)].join("");

it("writes what JSON.stringify writes, with members in one order", () => {
  for (const part of [long, `${long}"\n`, "short", 1, null, true]) {
    const value = {
      b: [part, undefined, { z: part, a: 1 }],
      a: part,
      skipped: undefined,
      10: 1,
      9: 2,
    };
    const sorted = { 9: 2, 10: 1, a: part, b: [part, undefined, { a: 1, z: part }] };
    expect(text(value)).toBe(JSON.stringify(sorted));
  }
});

it("does not copy a long value that needs no escapes", () => {
  expect([...jsonPieces({ value: [long] })]).toContain(long);
});
