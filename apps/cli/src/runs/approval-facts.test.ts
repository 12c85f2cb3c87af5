import { expect, it } from "vitest";
import { approvalFacts } from "./approval-facts.ts";

const END = "2026-11-29T12:00:00.000Z";
const NOW = Date.parse(END);
const AT = "2026-11-28T12:00:00.000Z";
const LIMIT = "2026-12-05T12:00:00.000Z";
const run = {
  phase: "awaiting_approval",
  required_approvals: 3,
  approval_expires_at: LIMIT,
  approvals: [
    { actor: "ann", plan_digest: "d", comment: "", at: AT },
    { actor: "bea", plan_digest: "d", comment: "", at: AT, expires_at: END },
  ],
} as const;

it("counts the approvals whose time is not over, and says their end", () => {
  expect(approvalFacts(run, NOW - 1)).toEqual([
    ["Approved", `${AT} by ann`],
    ["Approved", `${AT} by bea, counts until ${END}`],
    ["Approvals", "2 of 3"],
    ["Approve by", LIMIT],
  ]);
});

it("leaves those out of the count that count no longer, and says so", () => {
  expect(approvalFacts(run, NOW)).toEqual([
    ["Approved", `${AT} by ann`],
    ["Approved", `${AT} by bea, no longer counts since ${END}`],
    ["Approvals", "1 of 3"],
    ["Approve by", LIMIT],
  ]);
});

it("says who approved what was applied, and nothing of an end", () => {
  const applied = { ...run, phase: "applied", approval_expires_at: undefined } as const;
  expect(approvalFacts(applied, NOW).filter(([, value]) => value !== undefined)).toEqual([
    ["Approved", `${AT} by ann`],
    ["Approved", `${AT} by bea`],
  ]);
});
