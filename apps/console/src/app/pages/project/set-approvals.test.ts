import { expect, it } from "vitest";
import { approvalsOf } from "./set-approvals.ts";

const END = "2026-11-29T12:00:00.000Z";
const NOW = Date.parse(END);
const lasting = { actor: "ann", comment: "", at: "2026-11-28T12:00:00.000Z" };
const ending = { ...lasting, actor: "bea", expires_at: END };
const approvals = [lasting, ending];

it("a set that waits has the approvals whose time is not over", () => {
  const set = { phase: "awaiting_approval", approvals } as const;
  expect(approvalsOf(set, NOW - 1)).toEqual([lasting, ending]);
  expect(approvalsOf(set, NOW)).toEqual([lasting]);
});

it("a set that was approved keeps all approvals that were given", () => {
  expect(approvalsOf({ phase: "applied", approvals }, NOW)).toEqual([lasting, ending]);
});
