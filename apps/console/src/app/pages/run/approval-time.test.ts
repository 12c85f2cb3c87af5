import { expect, it } from "vitest";
import { countingApprovals, endOfApproval } from "./approval-time.ts";

const END = "2026-11-29T12:00:00.000Z";
const NOW = Date.parse(END);
const approval = { actor: "ann", plan_digest: "d", comment: "", at: "2026-11-28T12:00:00.000Z" };
const ending = { ...approval, actor: "bea", expires_at: END };

it("counts the approvals whose time is not over, and those without an end", () => {
  const run = { approvals: [approval, ending] };
  expect(countingApprovals(run, NOW - 1)).toEqual([approval, ending]);
  expect(countingApprovals(run, NOW)).toEqual([approval]);
});

it("names the end of an approval until the apply begins", () => {
  expect(endOfApproval({ phase: "awaiting_approval" }, ending)).toBe(END);
  expect(endOfApproval({ phase: "approved" }, ending)).toBe(END);
  expect(endOfApproval({ phase: "applied" }, ending)).toBeUndefined();
  expect(endOfApproval({ phase: "approved" }, approval)).toBeUndefined();
});
