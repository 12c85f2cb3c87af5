import { expect, it } from "vitest";
import { RunProgressReducer } from "./run-progress.ts";

it("makes steps, counts and lines of the events of a run", () => {
  const reducer = new RunProgressReducer();
  let seq = 0;
  const add = (type: string, members: object = {}): void => {
    seq += 1;
    reducer.add({ seq, at: seq * 1000, type, ...members });
  };
  add("phase-change", { to: "planning", actor: "u" });
  add("planned", { address: "a", action: "create" });
  add("planned", { address: "b", action: "no-op" });
  add("step-start", { address: "a", deposed: "", action: "create" });
  add("step-start", { address: "b", deposed: "", action: "delete" });
  expect(reducer.progress()).toMatchObject({ running: 2, planned: 1, phase: "planning" });
  add("step-end", { address: "a", deposed: "", action: "create", status: "done" });
  add("step-end", { address: "b", deposed: "", action: "delete", status: "failed" });
  add("step-end", { address: "c", deposed: "", action: "create", status: "skipped", cause: "b" });
  add("something-new", { address: "a" });
  add("end", { phase: "partially_applied" });
  const progress = reducer.progress();
  expect(progress).toMatchObject({ running: 0, done: 1, failed: 2, isEnded: true, seq });
  expect(progress.phase).toBe("partially_applied");
  expect(progress.steps.map(({ address, status, cause }) => [address, status, cause])).toEqual([
    ["a", "done", undefined],
    ["b", "failed", undefined],
    ["c", "skipped", "b"],
  ]);
  expect(progress.steps[0]).toMatchObject({ startMs: 4000, endMs: 6000 });
  expect(progress.lines.filter(({ level }) => level === "error").map(({ text }) => text)).toEqual([
    "delete failed",
    "create skipped, because of b",
  ]);
});

it("says of steps in progress at the end of a run that nobody knows what became of them", () => {
  const reducer = new RunProgressReducer();
  reducer.add({ seq: 1, at: 1, type: "step-start", address: "a", deposed: "", action: "create" });
  reducer.add({ seq: 2, at: 5, type: "end", phase: "canceled" });
  const { steps, running, failed } = reducer.progress();
  expect(steps).toMatchObject([{ address: "a", status: "unresolved", endMs: 5 }]);
  expect([running, failed]).toEqual([0, 1]);
});

it("keeps the newest lines, and says how many it dropped", () => {
  const reducer = new RunProgressReducer();
  const count = 50_000;
  for (let seq = 1; seq <= count; seq += 1) {
    reducer.add({ seq, at: seq, type: "provision-output", line: `line ${seq}` });
  }
  const { lines, droppedLines } = reducer.progress();
  expect(lines.length + droppedLines).toBe(count);
  expect(lines.length).toBeLessThanOrEqual(22_000);
  expect(lines.at(-1)?.text).toBe("line 50000");
});
