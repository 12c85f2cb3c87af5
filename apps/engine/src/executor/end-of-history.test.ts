import { expect, it } from "vitest";
import { endOfHistory } from "./end-of-history.ts";

const entry = { revision: 4n, run: "r", finishedAtMs: 1, changed: 2, complete: true };

it("a run whose result was lost ends as its entry in the history says", () => {
  expect(endOfHistory({ ...entry, status: "applied" })).toEqual({
    phase: "applied",
    revision: "4",
  });
  for (const status of ["partially_applied", "failed"] as const) {
    expect(endOfHistory({ ...entry, status })).toMatchObject({
      phase: status,
      revision: "4",
      reasonCode: "result_lost",
    });
  }
});

it("an apply that stopped because its worker was lost is not canceled by a user", () => {
  expect(endOfHistory({ ...entry, status: "canceled" })).toMatchObject({
    phase: "partially_applied",
    reasonCode: "result_lost",
  });
  const untouched = { ...entry, status: "canceled", changed: 0 } as const;
  expect(endOfHistory(untouched)).toMatchObject({
    phase: "failed",
    revision: "4",
    reasonCode: "worker_lost",
  });
  // Another run finished it, which cannot know all that it did.
  expect(endOfHistory({ ...untouched, complete: false }).phase).toBe("partially_applied");
});

it("without a status it was another run that finished it, and without an entry nothing was done", () => {
  expect(endOfHistory(entry)).toMatchObject({
    phase: "partially_applied",
    reasonCode: "result_lost",
  });
  expect(endOfHistory(undefined)).toMatchObject({ phase: "failed", reasonCode: "worker_lost" });
});
