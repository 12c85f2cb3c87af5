import {
  PolicyResult,
  PolicySet_Enforcement,
  PolicySetResult_Outcome,
} from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { policyMarkdown } from "./policy-markdown.ts";

function resultOf(messages: readonly string[]): PolicyResult {
  return PolicyResult.fromPartial({
    sets: [
      {
        set: "security",
        enforcement: PolicySet_Enforcement.ENFORCEMENT_OVERRIDABLE,
        outcome: PolicySetResult_Outcome.OUTCOME_FAILED,
        findings: messages.map((message) => ({ rule: "p/deny", message, address: "a.b" })),
      },
    ],
  });
}

it("is a table of sets and findings, in which texts of others are code", () => {
  expect(policyMarkdown(resultOf(["no | @all `x` \n## big"]), 10_000)).toBe(
    [
      "",
      "",
      "| Policy set | Enforcement | Outcome |",
      "| --- | --- | --- |",
      "| ` security ` | overridable | **failed** |",
      "| | forbids | `` no \\| @all `x`  ## big `` ` a.b ` |",
    ].join("\n"),
  );
});

it("has at most so many bytes, and says that there is more", () => {
  const long = policyMarkdown(resultOf(Array(50).fill("é".repeat(400)) as string[]), 5_000);
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(5_000);
  expect(long).toContain("and more on the server");
  expect(policyMarkdown(PolicyResult.fromPartial({}), 5_000)).toBe("");
});
