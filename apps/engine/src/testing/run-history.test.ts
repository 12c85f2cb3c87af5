import { expect, it } from "vitest";
import { checkRunHistory, type ObservedRun } from "./run-history.ts";

const PHASES = ["queued", "preparing", "planning", "planned", "approved", "applying", "applied"];

/** A run that goes well: one event per phase, from a moment on. */
function run(number: number, at: number, epoch: string, actor = "w1"): ObservedRun {
  const changes = PHASES.map((to, index) => ({
    seq: index + 1,
    at: at + index,
    type: "phase-change",
    ...(index > 0 && { from: PHASES[index - 1] }),
    to,
    actor,
    ...(to === "applying" && { epoch }),
  }));
  const end = { seq: PHASES.length + 1, at: at + 10, type: "end", phase: "applied" };
  return { id: `r${number}`, stack: "s", number, phase: "applied", events: [...changes, end] };
}

it("finds nothing in runs that followed one another", () => {
  expect(checkRunHistory([run(1, 0, "1"), run(2, 10, "2")])).toEqual([]);
});

it("runs of different stacks have nothing to do with one another", () => {
  expect(checkRunHistory([run(1, 0, "1"), { ...run(2, 5, "1"), stack: "t" }])).toEqual([]);
});

it.each([
  ["a missing end", (one: ObservedRun) => one.events.slice(0, -1), "r1: has no end"],
  ["a gap", (one: ObservedRun) => one.events.toSpliced(2, 1), "gap before 4"],
  [
    "a skipped phase",
    (one: ObservedRun) => one.events.toSpliced(2, 1),
    "does not follow preparing",
  ],
])("finds %s", (_what, change, text) => {
  const one = run(1, 0, "1");
  expect(checkRunHistory([{ ...one, events: change(one) }]).join()).toContain(text);
});

it("finds two writers of one epoch, an epoch that went back, and a run that began too early", () => {
  expect(checkRunHistory([run(1, 0, "1"), run(2, 10, "1")]).join()).toContain("has two writers");
  expect(checkRunHistory([run(1, 0, "2"), run(2, 10, "1")]).join()).toContain("is not above 2");
  expect(checkRunHistory([run(1, 0, "1"), run(2, 8, "2")])).toEqual([
    "run r2: began before run r1 ended",
  ]);
});
