import { expect, it } from "vitest";
import { eventText } from "./run-text.ts";

it("says where lines are missing", () => {
  const text = eventText({ seq: 9, at: 1, type: "gap", dropped: 3 });
  expect(text).toBe(
    "Lines of the log are missing here: they came faster than they could be stored.\n",
  );
});

it("says where a log is full, as lines are missing from there on", () => {
  const text = eventText({ seq: 9, at: 1, type: "truncated" });
  expect(text).toBe("The log of the run is full: further lines of output are left out.\n");
});

it("says nothing of an event that is stored without its object", () => {
  for (const type of ["read-start", "step-end", "provision-output"]) {
    expect(eventText({ seq: 9, at: 1, type, cut: true })).toBe("");
  }
});
