import { expect, it } from "vitest";
import { interpretAnswers } from "./interpret-result.ts";
import { MAX_FINDING_TEXT, MAX_FINDINGS, MAX_MESSAGE } from "./policy-limits.ts";

it("keeps what forbids a plan within the bounds, and counts the rest", () => {
  const warnings = Array.from({ length: 500 }, (_, at) => `w${at}`);
  const found = interpretAnswers([{ entrypoint: "p", value: { warn: warnings, deny: ["no"] } }]);
  expect(found.findings[0]).toEqual({
    rule: "p/deny",
    message: "no",
    address: "",
    isWarning: false,
  });
  expect([found.findings.length, found.cut]).toEqual([MAX_FINDINGS, 501 - MAX_FINDINGS]);
  const long = interpretAnswers([
    { entrypoint: "p/deny", value: Array(20).fill("x".repeat(9_999)) },
  ]);
  expect(long.findings.every(({ message }) => message.length <= MAX_MESSAGE + 1)).toBe(true);
  expect(long.findings.length).toBe(
    Math.floor(MAX_FINDING_TEXT / (MAX_MESSAGE + 1 + "p/deny".length)),
  );
  expect(long.isForbidden).toBe(true);
});

it("throws for answers that say nothing", () => {
  for (const value of [
    undefined,
    null,
    7,
    "no",
    [],
    {},
    { other: [] },
    { deny: {} },
    { deny: [7] },
    { deny: [{}] },
    { allow: "yes" },
  ]) {
    expect(() => interpretAnswers([{ entrypoint: "p", value }])).toThrow(/^p/);
  }
  expect(() => interpretAnswers([{ entrypoint: "p/deny", value: undefined }])).toThrow("undefined");
});

it("takes an undefined allow beside a package for a refusal, and says a false one once", () => {
  const refusal = {
    rule: "p/allow",
    message: "p/allow is not true",
    address: "",
    isWarning: false,
  };
  for (const value of [{ deny: [] }, {}, { deny: [], allow: false }]) {
    const allow = "allow" in value ? value.allow : undefined;
    const answers = [
      { entrypoint: "p", value },
      { entrypoint: "p/allow", value: allow },
    ];
    expect(interpretAnswers(answers)).toMatchObject({ findings: [refusal], isForbidden: true });
  }
  const answers = [
    { entrypoint: "p", value: { deny: ["no"], allow: true } },
    { entrypoint: "p/allow", value: true },
  ];
  expect(interpretAnswers(answers).findings).toHaveLength(1);
});
