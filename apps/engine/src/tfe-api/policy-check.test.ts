import {
  PolicyFinding,
  PolicyResult,
  PolicySet_Enforcement,
  PolicySetResult,
  PolicySetResult_Outcome,
  Run,
  Run_Phase,
} from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { policyCheckOf } from "./policy-check.ts";

const { ENFORCEMENT_ADVISORY, ENFORCEMENT_MANDATORY, ENFORCEMENT_OVERRIDABLE } =
  PolicySet_Enforcement;
const { OUTCOME_FAILED, OUTCOME_PASSED } = PolicySetResult_Outcome;
const DEPLOYER = {
  account: "a",
  actor: "ann",
  credential: "token-1",
  isOperator: true,
  isAdmin: false,
  projects: [],
};
const ADMIN = { ...DEPLOYER, actor: "ben", isAdmin: true };
const RUN = Run.create({ planDigest: "d", phase: Run_Phase.PHASE_POLICY_FAILED, actor: "ben" });

function result(...sets: Partial<PolicySetResult>[]): PolicyResult {
  return PolicyResult.create({
    planDigest: "d",
    sets: sets.map((one) => PolicySetResult.create({ set: "s", outcome: OUTCOME_FAILED, ...one })),
  });
}

it("is overridden by those who have the role of each set that failed", () => {
  const failed = result({ enforcement: ENFORCEMENT_OVERRIDABLE });
  expect(policyCheckOf(failed, RUN, DEPLOYER)).toMatchObject({
    status: "soft_failed",
    isOpen: true,
    canOverride: false,
  });
  expect(policyCheckOf(failed, RUN, ADMIN)?.canOverride).toBe(true);
  const author = { ...RUN, excludeAuthor: true };
  expect(policyCheckOf(failed, author, ADMIN)?.canOverride).toBe(false);
  const ofOperators = result(
    { enforcement: ENFORCEMENT_OVERRIDABLE, overrideRole: "operator" },
    { enforcement: ENFORCEMENT_ADVISORY },
    { enforcement: ENFORCEMENT_OVERRIDABLE, outcome: OUTCOME_PASSED },
  );
  expect(policyCheckOf(ofOperators, RUN, DEPLOYER)?.canOverride).toBe(true);
  const ended = { ...RUN, phase: Run_Phase.PHASE_DISCARDED };
  expect(policyCheckOf(ofOperators, ended, ADMIN)).toMatchObject({ isOpen: false });
});

it("is none without policies, and of another plan", () => {
  expect(policyCheckOf(undefined, RUN, ADMIN)).toBeUndefined();
  expect(policyCheckOf(result(), RUN, ADMIN)).toBeUndefined();
  const other = { ...RUN, planDigest: "e" };
  expect(policyCheckOf(result({}), other, ADMIN)).toBeUndefined();
  const advisory = result({ enforcement: ENFORCEMENT_ADVISORY });
  expect(policyCheckOf(advisory, RUN, ADMIN)?.status).toBe("passed");
  const strict = result({ enforcement: ENFORCEMENT_MANDATORY });
  expect(policyCheckOf(strict, RUN, ADMIN)?.status).toBe("hard_failed");
});

it("says what was found in texts that control no terminal", () => {
  const found = PolicyFinding.create({ message: "no\u001b[31m\n> yes", address: "a.b" });
  const failed = result({ enforcement: ENFORCEMENT_MANDATORY, findings: [found], cut: 2 });
  expect(policyCheckOf(failed, RUN, ADMIN)?.text).toBe(
    "Policy set s (mandatory): failed\n  forbids: no [31m > yes (a.b)\n  and 2 more\n",
  );
});
