import { expect, it } from "vitest";
import { ExactNumber } from "../differential/exact-json.ts";
import { firstDecidedEarlier, firstOfUnknownTypes } from "./compare-case.ts";

const TYPES = { summary: "Inconsistent conditional result types", detail: "" };
const MAP = {
  summary: "Invalid function argument",
  detail: 'Invalid value for "v" parameter: cannot convert object to map of any single type.',
};
const refused = (...errors: { summary: string; detail: string }[]) => ({ stage: "plan", errors });
const GOOD = { stage: null, errors: [] };

it.each([
  ["types alone", [GOOD, refused(TYPES, MAP)], [GOOD, GOOD], 1],
  ["types, where ours fails in the apply", [refused(MAP)], [{ ...GOOD, stage: "apply" }], 0],
  ["something else as well", [refused(TYPES, { summary: "Cycle", detail: "" })], [GOOD], -1],
  ["another argument", [refused({ ...MAP, detail: "a number is required" })], [GOOD], -1],
  ["types, as ours does", [refused(TYPES)], [refused(TYPES)], -1],
  ["nothing", [GOOD], [GOOD], -1],
])("finds the step that is refused for %s", (_name, expected, actual, at) => {
  expect(firstOfUnknownTypes({ steps: expected }, { steps: actual })).toBe(at);
});

const FAILED = {
  summary: "Resource precondition failed",
  file: "main.tf",
  line: new ExactNumber("3"),
};
const OTHER = { ...FAILED, line: new ExactNumber("9") };

it.each([
  ["the same condition", { stage: "plan", errors: [FAILED] }, 1],
  ["one of two", { stage: "plan", errors: [OTHER] }, 1],
  ["another condition", { stage: "plan", errors: [{ ...FAILED, line: new ExactNumber("4") }] }, -1],
  ["something else", { stage: "plan", errors: [{ ...FAILED, summary: "Cycle" }] }, -1],
  ["nothing before the apply", { stage: "apply", errors: [FAILED] }, -1],
])(
  "finds the step in whose plan fails what fails in the apply of the real command: %s",
  (_name, ours, at) => {
    const expected = { steps: [GOOD, { stage: "apply", errors: [FAILED, OTHER] }] };
    expect(firstDecidedEarlier(expected, { steps: [GOOD, ours] })).toBe(at);
  },
);
