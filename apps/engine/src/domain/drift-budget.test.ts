import { expect, it } from "vitest";
import {
  type ChargedCheck,
  DriftBudget,
  PROJECT_CHECKS,
  PROVIDER_OBJECTS,
} from "./drift-budget.ts";

const AWS = "registry.terraform.io/hashicorp/aws";
const DNS = "registry.terraform.io/hashicorp/dns";
const START = 1_000_000_000;

function check(name: string, loads: Readonly<Record<string, number>>, project = name) {
  return {
    stack: { account: "acme", project, stack: name },
    loads: Object.entries(loads).map(([provider, objects]) => ({ provider, objects })),
  };
}

it("objects of one provider are read at its rate behind a burst, whichever server asks", () => {
  const waiting = Array.from({ length: 100 }, (_, at) => check(`s${at}`, { [AWS]: 100 }));
  const made: ChargedCheck[] = [];
  const times: number[] = [];
  for (let atMs = START; waiting.length > 0; atMs += 1_000) {
    // Another server each time: it knows the records alone.
    const budget = new DriftBudget(atMs, made.toReversed());
    while (waiting[0] !== undefined && budget.take(waiting[0])) {
      made.push({ ...waiting[0], atMs });
      times.push(atMs);
      waiting.shift();
    }
    expect(atMs).toBeLessThan(START + 3_600_000);
  }
  const objectsWithin = (fromMs: number, ms: number): number =>
    100 * times.filter((atMs) => atMs >= fromMs && atMs < fromMs + ms).length;
  const { perSecond, burst } = PROVIDER_OBJECTS;
  for (const fromMs of times) {
    for (const ms of [1_000, 10_000, 60_000]) {
      expect(objectsWithin(fromMs, ms)).toBeLessThanOrEqual(burst + (perSecond * ms) / 1_000);
    }
  }
  expect(times.at(-1)).toBe(START + ((10_000 - burst) / perSecond) * 1_000);
});

it("what is larger than the burst waits for a full bucket, and the next one for its debt", () => {
  const large = check("large", { [AWS]: 5_000 });
  const budget = new DriftBudget(START, []);
  expect(budget.take(large)).toBe(true);
  const made = [{ ...large, atMs: START }];
  const small = check("small", { [AWS]: 1 });
  expect(new DriftBudget(START + 60_000, made).take(small)).toBe(false);
  expect(new DriftBudget(START + 60_020, made).take(small)).toBe(true);
  // The small ones behind it do not take what it waits for.
  const waited = new DriftBudget(START + 99_000, made);
  expect([waited.take(large), waited.take(small)]).toEqual([false, false]);
  expect(new DriftBudget(START + 100_000, made).take(large)).toBe(true);
});

it("a provider, a project and an account wait for themselves alone", () => {
  const budget = new DriftBudget(START, []);
  expect(budget.take(check("one", { [AWS]: 2_000 }))).toBe(true);
  expect(budget.take(check("two", { [AWS]: 1 }))).toBe(false);
  expect(budget.take(check("both", { [DNS]: 1, [AWS]: 1 }))).toBe(false);
  expect(budget.take(check("three", { [DNS]: 1 }))).toBe(true);
  const elsewhere = check("two", { [AWS]: 1 });
  expect(budget.take({ ...elsewhere, stack: { ...elsewhere.stack, account: "other" } })).toBe(true);
  expect(budget.take(check("built-in", { "terraform.io/builtin/terraform": 9_000 }))).toBe(true);
  const ofOne = Array.from({ length: 40 }, (_, at) => budget.take(check(`p${at}`, {}, "p")));
  expect(ofOne.filter((taken) => taken)).toHaveLength(PROJECT_CHECKS.burst);
  expect(budget.take(check("q", {}, "q"))).toBe(true);
});

it("one that waits for two providers gets them, however many that need one of them come behind it", () => {
  const large = check("large", { [AWS]: 2_000, [DNS]: 2_000 });
  const small = (name: string, provider: string) => check(name, { [provider]: 400 });
  // Of one provider there is enough when there is not of the other.
  const made: ChargedCheck[] = [{ ...check("first", { [AWS]: 2_000 }), atMs: START }];
  for (let atMs = START + 1_000, behind = 0; ; atMs += 1_000) {
    expect(atMs).toBeLessThan(START + 120_000);
    const budget = new DriftBudget(atMs, made);
    if (budget.take(large)) break;
    for (const provider of [AWS, DNS]) {
      behind += 1;
      const next = small(`s${behind}`, provider);
      if (budget.take(next)) made.push({ ...next, atMs });
    }
  }
});

it("what was taken for a check that was not requested is there for others", () => {
  const budget = new DriftBudget(START, []);
  const large = check("large", { [AWS]: 5_000 });
  expect(budget.take(large)).toBe(true);
  budget.giveBack(large);
  expect(budget.take(check("other", { [AWS]: 2_000 }))).toBe(true);
});
