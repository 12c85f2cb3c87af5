import { expect, it } from "vitest";
import { policyProgram } from "../testing/policies/read-policies.ts";
import { requireDefinedAllow } from "./require-defined-allow.ts";

const program = policyProgram();

it("refuses a package whose rule allow is undefined", () => {
  const check = (...answers: { entrypoint: string; value: unknown }[]) =>
    requireDefinedAllow(program, answers);
  expect(() => check({ entrypoint: "shapes", value: { deny: [] } })).toThrow(
    "shapes/allow is undefined for this plan: give it a default",
  );
  // It is read there, where an undefined one forbids.
  check({ entrypoint: "shapes", value: {} }, { entrypoint: "shapes/allow", value: undefined });
  check({ entrypoint: "shapes", value: { allow: false } });
  check({ entrypoint: "shapes/deny", value: [] });
  // This package has no such rule.
  check({ entrypoint: "stackwright", value: { deny: [] } });
});
