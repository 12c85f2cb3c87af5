import {
  type PolicyResult,
  PolicySet_Enforcement,
  type PolicySetResult,
  PolicySetResult_Outcome,
} from "@stackwright/proto/stackwright";
import type { RunLogEvent } from "../domain/run-log-event.ts";
import { enforcementName } from "./policy-places.ts";

/** What the result of its policies means for a run. */
export function blockOf(result: Pick<PolicyResult, "sets">): "none" | "overridable" | "forbidden" {
  const failed = result.sets.filter(
    ({ outcome }) => outcome !== PolicySetResult_Outcome.OUTCOME_PASSED,
  );
  const strict = failed.filter(
    ({ enforcement }) => enforcement !== PolicySet_Enforcement.ENFORCEMENT_ADVISORY,
  );
  if (strict.length === 0) return "none";
  const isOverridable = strict.every(
    ({ enforcement }) => enforcement === PolicySet_Enforcement.ENFORCEMENT_OVERRIDABLE,
  );
  return isOverridable ? "overridable" : "forbidden";
}

/** Outcomes by their names in the API. */
export type OutcomeName = "passed" | "failed" | "errored";

/** The name of a stored outcome; one that is not known is an error. */
export function outcomeName({ outcome }: Pick<PolicySetResult, "outcome">): OutcomeName {
  if (outcome === PolicySetResult_Outcome.OUTCOME_PASSED) return "passed";
  return outcome === PolicySetResult_Outcome.OUTCOME_FAILED ? "failed" : "errored";
}

/** Findings that an event has of each set, and characters of each: all are in the result. */
const EVENT_FINDINGS = 10;
const EVENT_TEXT = 300;

/** What the log of a run says about its policies: an event for each set. */
export function policyEvents({ sets }: Pick<PolicyResult, "sets">): readonly RunLogEvent[] {
  return sets.map((one) => ({
    type: "policy",
    set: one.set,
    enforcement: enforcementName(one.enforcement),
    outcome: outcomeName(one),
    findings: one.findings.slice(0, EVENT_FINDINGS).map(({ message, address, isWarning }) => ({
      message: message.slice(0, EVENT_TEXT),
      ...(address !== "" && { address: address.slice(0, EVENT_TEXT) }),
      ...(isWarning && { warning: true }),
    })),
    count: one.findings.length + one.cut,
    ...(one.error !== "" && { error: one.error }),
  }));
}
