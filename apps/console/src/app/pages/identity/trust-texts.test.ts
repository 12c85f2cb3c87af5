import { expect, it } from "vitest";
import { PLATFORMS, trustSteps } from "./trust-texts.ts";

const RUN = {
  issuer: "https://sw.example.com",
  subject: "account:acme:project:web:stack:site:phase:plan",
  stack: "web/site",
};

it("every platform is told the issuer, the subject and the variables of the phase", () => {
  for (const platform of PLATFORMS) {
    const text = trustSteps(platform, RUN)
      .map((step) => step.text)
      .join("\n");
    expect([platform, text]).toEqual([
      platform,
      expect.stringMatching(/sw\.example\.com[^]*account:acme:project:web:stack:site:phase:plan/),
    ]);
    expect(text).toMatch(/STACKWRIGHT_IDENTITY_(?:AWS_PLAN|GCP_PLAN|AZURE_PLAN|AUDIENCE)_/);
    expect(text).toContain("--stack web/site");
  }
});

it("a rule of AWS compares audience and subject under the name of the host", () => {
  const policy = trustSteps("aws", RUN)[1]?.text ?? "";
  expect(JSON.parse(policy).Statement[0].Condition.StringEquals).toEqual({
    "sw.example.com:aud": "aws.workload.identity",
    "sw.example.com:sub": RUN.subject,
  });
});
