import { expect, it } from "vitest";
import { identitySetting, requestedIdentities } from "./requested-identity.ts";

it("a stack asks for tokens by audiences, and by the settings of platforms", () => {
  expect(requestedIdentities({ AWS_ROLE_ARN: "x", TF_VAR_a: "b" })).toEqual([]);
  expect(
    requestedIdentities({
      STACKWRIGHT_IDENTITY_AUDIENCE: "https://one.example.com",
      STACKWRIGHT_IDENTITY_AUDIENCE_VAULT: "vault",
      TFC_WORKLOAD_IDENTITY_AUDIENCE_OLD: "old",
      STACKWRIGHT_IDENTITY_AWS_APPLY_ROLE_ARN: "arn:aws:iam::1:role/apply",
      STACKWRIGHT_IDENTITY_GCP_PROVIDER: "projects/1/locations/global/x",
    }),
  ).toEqual([
    { tag: "AWS", audience: "aws.workload.identity" },
    { tag: "GCP", audience: "//iam.googleapis.com/projects/1/locations/global/x" },
    { tag: "OLD", audience: "old" },
    { tag: "VAULT", audience: "vault" },
    { tag: "", audience: "https://one.example.com" },
  ]);
});

it("an audience of ours wins over the name of another platform, and one that is no text is left out", () => {
  expect(
    requestedIdentities({
      TFC_WORKLOAD_IDENTITY_AUDIENCE: "theirs",
      STACKWRIGHT_IDENTITY_AUDIENCE: "ours",
      STACKWRIGHT_IDENTITY_AUDIENCE_A: "two\nlines",
      STACKWRIGHT_IDENTITY_AUDIENCE_B: "x".repeat(513),
      STACKWRIGHT_IDENTITY_AUDIENCE_C: "",
      "STACKWRIGHT_IDENTITY_AUDIENCE_../D": "d",
    }),
  ).toEqual([{ tag: "", audience: "ours" }]);
  const many = Array.from({ length: 40 }, (_, at) => [`STACKWRIGHT_IDENTITY_AUDIENCE_T${at}`, "a"]);
  expect(requestedIdentities(Object.fromEntries(many) as Record<string, string>)).toHaveLength(16);
});

it("a setting of one phase wins over that of both", () => {
  const environment = {
    STACKWRIGHT_IDENTITY_AWS_ROLE_ARN: "both",
    STACKWRIGHT_IDENTITY_AWS_PLAN_ROLE_ARN: "plan",
  };
  expect(identitySetting(environment, "AWS_ROLE_ARN", "plan")).toBe("plan");
  expect(identitySetting(environment, "AWS_ROLE_ARN", "apply")).toBe("both");
});
