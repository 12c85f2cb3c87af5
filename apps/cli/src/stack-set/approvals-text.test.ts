import { expect, it } from "vitest";
import { approvalsText } from "./approvals-text.ts";

it("approvals that are past their time do not count, others do", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const given = { actor: "ann", comment: "", at };
  const approvals = [given, { ...given, actor: "ben", expires_at: at }];
  const nowMs = Date.parse(at);
  expect(approvalsText({ approvals, required_approvals: 2 }, nowMs - 1)).toBe("2 of 2 approvals");
  expect(approvalsText({ approvals, required_approvals: 2 }, nowMs)).toBe("1 of 2 approvals");
});
