import { expect, it } from "vitest";
import { CODE_MS, ConsoleCodes } from "./console-codes.ts";

it("gives a token once, for ten minutes, and to the newest hundred", () => {
  let nowMs = 0;
  const codes = new ConsoleCodes({ monotonicMs: () => nowMs });
  const code = codes.keep("sw_a");
  expect(codes.take(`${code}x`)).toBeUndefined();
  expect([codes.take(code), codes.take(code)]).toEqual(["sw_a", undefined]);
  const late = codes.keep("sw_b");
  nowMs += CODE_MS;
  expect(codes.take(late)).toBeUndefined();
  const many = Array.from({ length: 101 }, (_, at) => codes.keep(`sw_${at}`));
  expect([codes.take(many[0] ?? ""), codes.take(many[100] ?? "")]).toEqual([undefined, "sw_100"]);
});
