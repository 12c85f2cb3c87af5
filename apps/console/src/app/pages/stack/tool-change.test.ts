import { expect, it } from "vitest";
import { type StackTool, toolChangeOf } from "./tool-change.ts";

const before: StackTool = {
  tool: "tofu",
  version: "1.11.4",
  shadow: true,
  adopt_after: 5,
  equal_in_a_row: 0,
  can_adopt: false,
  offered: [],
};
const form = { tool: "tofu", version: "1.11.4", shadow: true, adoptAfter: 5 } as const;

it("a form about a tool sends what was changed in it, and nothing that others may have changed since", () => {
  expect(toolChangeOf(before, form)).toEqual({});
  expect(toolChangeOf(before, { ...form, adoptAfter: 9 })).toEqual({ adopt_after: 9 });
  expect(toolChangeOf(before, { ...form, version: "", shadow: false })).toEqual({
    version: "",
    shadow: false,
  });
  expect(toolChangeOf(before, { ...form, tool: "stackwright" })).toEqual({ tool: "stackwright" });
  expect(toolChangeOf(before, { ...form, tool: "terraform", version: "" })).toEqual({
    tool: "terraform",
    version: "",
    shadow: true,
    adopt_after: 5,
  });
});
