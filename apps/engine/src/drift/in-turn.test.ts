import { expect, it } from "vitest";
import { inTurn } from "./in-turn.ts";

it("what waits in one account keeps no other one out", () => {
  const of = (account: string, count: number) =>
    Array.from({ length: count }, (_, at) => ({ stack: { account }, at }));
  const taken = [...inTurn([...of("busy", 50), ...of("late", 1), ...of("other", 2)], 6)];
  expect(taken.map(({ stack: { account }, at }) => `${account} ${at}`)).toEqual([
    "busy 0",
    "late 0",
    "other 0",
    "busy 1",
    "other 1",
    "busy 2",
  ]);
  expect(inTurn(of("busy", 50), 20).size).toBe(20);
});
