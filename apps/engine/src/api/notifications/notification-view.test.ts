import { expect, it } from "vitest";
import { changedEvents } from "./notification-view.ts";

it("a change of events keeps those of a newer release, which it could not show", () => {
  const before = ["run.failed", "run.applied", "of.a.newer.release"];
  expect(changedEvents(before, ["run.applied", "drift.found"])).toEqual([
    "run.applied",
    "drift.found",
    "of.a.newer.release",
  ]);
  expect(changedEvents(before, [])).toEqual(["of.a.newer.release"]);
});
