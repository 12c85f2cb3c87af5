import type { Diagnostic } from "@stackwright/lang";
import { expect, it } from "vitest";
import { redactDiagnostics } from "./redact-run.ts";
import { createRedactor } from "./secrets/redactor.ts";

const SECRET = "Resource";

function redacted(code: Diagnostic["code"], summary: string): readonly [string, string] {
  const secrets = createRedactor();
  secrets.add(SECRET);
  const [found] = redactDiagnostics(secrets, [
    { severity: "error", code, summary, detail: `It is ${SECRET}.` },
  ]);
  return [found?.summary ?? "", found?.detail ?? ""];
}

it("leaves a fixed summary of the language as it is, and takes the secret out of the detail", () => {
  expect(redacted("LANG_CONFIG", "Resource postcondition failed")).toEqual([
    "Resource postcondition failed",
    "It is (sensitive value).",
  ]);
});

it.each([
  ["LANG_PROVIDER", "Resource is wrong", "(sensitive value) is wrong"],
  ["ENGINE_PLAN", "Resource is wrong", "(sensitive value) is wrong"],
  ["LANG_CONFIG", 'Duplicate "Resource"', 'Duplicate "(sensitive value)"'],
] as const)("takes a secret out of the summary of %s: %s", (code, summary, expected) => {
  expect(redacted(code, summary)[0]).toBe(expected);
});
