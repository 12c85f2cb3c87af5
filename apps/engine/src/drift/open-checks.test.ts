import { expect, it } from "vitest";
import { OpenChecks } from "./open-checks.ts";

/** Requests checks of accounts, one of each in turn, as long as there is room. Resolves with how many each has. */
function fill(checks: OpenChecks, accounts: readonly string[]): readonly number[] {
  const counts = accounts.map(() => 0);
  for (let round = 0; round < 300; round += 1) {
    for (const [index, account] of accounts.entries()) {
      if (!checks.hasRoomFor({ account })) continue;
      checks.add({ account });
      counts[index] = (counts[index] ?? 0) + 1;
    }
  }
  return counts;
}

it("an account has a bound of its own", () => {
  const checks = new OpenChecks({ accounts: ["a", "b"], idle: [] });
  expect(fill(checks, ["a"])).toEqual([20]);
  expect(fill(checks, ["b"])).toEqual([20]);
});

it("accounts that have filled all keep none out of its share", () => {
  const waiting = Array.from({ length: 5 }, (_, index) => `w${index}`);
  const checks = new OpenChecks({ accounts: [...waiting, "late", "later"], idle: [] });
  expect(fill(checks, waiting)).toEqual(Array(5).fill(20));
  // 100 of all by 7 accounts.
  expect(fill(checks, ["late"])).toEqual([14]);
  expect(fill(checks, ["later"])).toEqual([14]);
  expect(fill(checks, waiting)).toEqual(Array(5).fill(0));
});

it("of more accounts than checks each has one, up to twice the number of all", () => {
  const accounts = Array.from({ length: 500 }, (_, index) => `a${index}`);
  const counts = fill(new OpenChecks({ accounts, idle: [] }), accounts);
  expect(Math.max(...counts)).toBe(1);
  expect(counts.reduce((sum, one) => sum + one, 0)).toBe(200);
  const greedy = new OpenChecks({ accounts, idle: [] });
  for (const account of accounts.slice(0, 5)) {
    for (let count = 0; count < 20; count += 1) greedy.add({ account });
  }
  const others = fill(greedy, accounts.slice(5));
  expect(others.reduce((sum, one) => sum + one, 0)).toBe(100);
});

it("accounts without workers cost no other account its place, however many they are", () => {
  const idle = Array.from({ length: 500 }, (_, index) => `w${index}`);
  const others = Array.from({ length: 250 }, (_, index) => `a${index}`);
  const checks = new OpenChecks({ accounts: [...idle, ...others], idle });
  for (const account of idle) checks.add({ account });
  const counts = fill(checks, others);
  expect(counts.reduce((sum, one) => sum + one, 0)).toBe(200);
  // What they have waits, and gets no more.
  expect(fill(checks, idle)).toEqual(Array(500).fill(0));
});

it("an account without workers has the bound of its own, and its share where all are many", () => {
  const alone = new OpenChecks({ accounts: ["w", "a"], idle: ["w"] });
  expect(fill(alone, ["w"])).toEqual([20]);
  const accounts = Array.from({ length: 10 }, (_, index) => `w${index}`);
  const many = new OpenChecks({ accounts, idle: accounts });
  for (const account of accounts.slice(1)) {
    for (let count = 0; count < 12; count += 1) many.add({ account });
  }
  expect(fill(many, ["w0"])).toEqual([10]);
});
