import fc from "fast-check";
import { expect, it } from "vitest";
import { criticalPath } from "./critical-path.ts";
import { RunProgressReducer } from "./run-progress.ts";

/** An apply of steps that wait for earlier ones and get places at once, as the engine reports it. */
function play(steps: readonly { readonly takes: number; readonly waitsFor: readonly number[] }[]) {
  const reducer = new RunProgressReducer();
  const ends: number[] = [];
  const starts = steps.map(({ takes, waitsFor }, at) => {
    const begin = Math.max(0, ...waitsFor.map((one) => ends[one] ?? 0));
    ends[at] = begin + takes;
    // Of several that end at once the engine names the one that it heard of last.
    const last = waitsFor.findLast((one) => ends[one] === begin);
    return { at, begin, last };
  });
  const nameOf = (at: number) => ({ address: `r${at}`, deposed: "", action: "create" });
  const events = starts.flatMap(({ at, begin, last }) => [
    {
      at: begin,
      type: "step-start",
      ...nameOf(at),
      ...(last !== undefined && { after: nameOf(last) }),
    },
    { at: ends[at] ?? 0, type: "step-end", ...nameOf(at), status: "done" },
  ]);
  for (const [index, event] of events.entries()) reducer.add({ seq: index + 1, ...event });
  return { progress: reducer.progress(), ends };
}

/** The longest way through the steps, by their times and what they wait for alone. */
function longest(
  steps: readonly { readonly takes: number; readonly waitsFor: readonly number[] }[],
): number {
  const lengths: number[] = [];
  for (const [at, { takes, waitsFor }] of steps.entries()) {
    lengths[at] = takes + Math.max(0, ...waitsFor.map((one) => lengths[one] ?? 0));
  }
  return Math.max(0, ...lengths);
}

it("is the longest way through the steps, without a gap", () => {
  const graph = fc
    .array(fc.record({ takes: fc.integer({ min: 1, max: 100 }), picks: fc.array(fc.nat(30)) }), {
      minLength: 1,
      maxLength: 30,
    })
    .map((all) =>
      all.map(({ takes, picks }, at) => ({
        takes,
        waitsFor: at === 0 ? [] : [...new Set(picks.map((pick) => pick % at))],
      })),
    );
  fc.assert(
    fc.property(graph, (steps) => {
      const path = criticalPath(play(steps).progress.steps);
      const length = path.reduce((sum, one) => sum + (one.endMs ?? 0) - one.startMs, 0);
      expect(length).toBe(longest(steps));
      expect(path[0]?.startMs).toBe(0);
      for (const [at, step] of path.entries()) {
        if (at > 0) expect(step.startMs).toBe(path[at - 1]?.endMs);
      }
    }),
  );
});

it("ends with what has been running for longest, and leaves out what was skipped", () => {
  const step = (key: string, startMs: number, endMs?: number, status = "done") => ({
    key,
    startMs,
    endMs,
    status: endMs === undefined ? "running" : status,
    after: undefined,
  });
  const steps = [step("a", 0, 90), step("b", 5), step("c", 9), step("d", 99, 99, "skipped")];
  expect(criticalPath(steps).map(({ key }) => key)).toEqual(["b"]);
  expect(criticalPath(steps.toSpliced(1, 2)).map(({ key }) => key)).toEqual(["a"]);
  expect(criticalPath([])).toEqual([]);
});
