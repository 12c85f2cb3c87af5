import { expect, it } from "vitest";
import { firstOfUnknownTypes } from "./compare-case.ts";

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
