import { expect, it } from "vitest";
import { unexplained } from "./intended.ts";

it("leaves the deviations that no entry explains by field and message", () => {
  const intended = [{ field: /^plan\.checks$/, message: /unknown/, reason: "it is newer" }];
  const deviation = (field: string, message: string) => ({ step: "step1", field, message });
  const others = [deviation("plan.checks", "fail"), deviation("checks", "unknown")];
  expect(unexplained([deviation("plan.checks", "unknown"), ...others], intended)).toEqual(others);
});
