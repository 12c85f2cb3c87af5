import { expect, it } from "vitest";
import type { TfeRun } from "../port/run-port.ts";
import { applyStatus, followedStatus, planStatus, runActions, runStatus } from "./run-status.ts";

const RUN: TfeRun = {
  id: "r",
  workspace: "w",
  phase: "queued",
  mode: "normal",
  planOnly: false,
  savedPlan: false,
  autoApply: false,
  message: "",
  createdAtMs: 0,
  hasPlan: false,
  wasApproved: false,
  isCanceling: false,
  upload: undefined,
  structuredOutput: true,
  counts: { additions: 0, changes: 0, destructions: 0, imports: 0 },
};

it.each<[Partial<TfeRun>, string, string, string]>([
  [{}, "pending", "pending", "pending"],
  [{ phase: "planning" }, "planning", "running", "pending"],
  [{ phase: "awaiting_approval", hasPlan: true }, "planned", "finished", "pending"],
  [
    { phase: "awaiting_approval", hasPlan: true, savedPlan: true },
    "planned_and_saved",
    "finished",
    "pending",
  ],
  [{ phase: "no_changes" }, "planned_and_finished", "finished", "unreachable"],
  [{ phase: "plan_finished", hasPlan: true }, "planned_and_finished", "finished", "unreachable"],
  [{ phase: "approved", hasPlan: true, wasApproved: true }, "confirmed", "finished", "queued"],
  [{ phase: "applying", hasPlan: true, wasApproved: true }, "applying", "finished", "running"],
  [{ phase: "applied", hasPlan: true, wasApproved: true }, "applied", "finished", "finished"],
  [{ phase: "failed" }, "errored", "errored", "unreachable"],
  [{ phase: "failed", hasPlan: true, wasApproved: true }, "errored", "finished", "errored"],
  [{ phase: "policy_failed", hasPlan: true }, "policy_override", "finished", "unreachable"],
  [{ phase: "canceled" }, "canceled", "canceled", "unreachable"],
  [{ phase: "superseded", hasPlan: true }, "discarded", "finished", "unreachable"],
  // A command that asks no question takes `discarded` for a success.
  [{ phase: "superseded", autoApply: true }, "errored", "finished", "unreachable"],
])("of %o is %s, %s, %s", (given, run, plan, apply) => {
  const one = { ...RUN, ...given };
  expect([runStatus(one), planStatus(one), applyStatus(one)]).toEqual([run, plan, apply]);
});

it("of a plan or an apply is running until the end of a log that was read halfway is read", () => {
  const run: TfeRun = { ...RUN, phase: "failed", openLogs: ["plan"] };
  expect(followedStatus("errored", run, "plan")).toBe("running");
  expect(followedStatus("errored", run, "apply")).toBe("errored");
  expect(followedStatus("pending", run, "plan")).toBe("pending");
  expect(followedStatus("errored", { ...run, openLogs: [] }, "plan")).toBe("errored");
});

it("names every action", () => {
  const names = ["is-cancelable", "is-confirmable", "is-discardable", "is-force-cancelable"];
  expect(Object.keys(runActions(RUN)).toSorted()).toEqual(names);
  expect(runActions({ ...RUN, phase: "applying", isCanceling: true })).toMatchObject({
    "is-cancelable": false,
    "is-force-cancelable": true,
  });
});
