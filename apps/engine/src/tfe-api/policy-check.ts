import type { PolicyResult, Run } from "@stackwright/proto/stackwright";
import type { TfeCaller, TfePolicyCheck } from "@stackwright/tfe";
import { enforcementName } from "../policy/policy-places.ts";
import { blockOf, outcomeName } from "../policy/policy-verdict.ts";
import { phaseOf } from "../queue/run-row.ts";

/** Characters of one line. */
const LINE = 500;

/** What policies said about the plan of a run, for commands; undefined where none judged it. */
export function policyCheckOf(
  result: PolicyResult | undefined,
  run: Run,
  caller: TfeCaller,
): TfePolicyCheck | undefined {
  if (result === undefined || result.sets.length === 0) return undefined;
  if (result.planDigest !== run.planDigest) return undefined;
  const block = blockOf(result);
  const isOpen = block === "overridable" && phaseOf(run) === "policy_failed";
  return {
    status: statusOf(result, block),
    isOpen,
    canOverride: isOpen && mayOverride(result, run, caller),
    text: textOf(result),
  };
}

/** Whether a caller has the role that a set asks for. */
export function hasOverrideRole(caller: TfeCaller, role: "operator" | "admin"): boolean {
  return role === "operator" ? caller.isOperator : caller.isAdmin;
}

function statusOf(
  { override }: PolicyResult,
  block: ReturnType<typeof blockOf>,
): TfePolicyCheck["status"] {
  if (block === "none") return "passed";
  if (block === "forbidden") return "hard_failed";
  return override === undefined ? "soft_failed" : "overridden";
}

function mayOverride({ sets }: PolicyResult, run: Run, caller: TfeCaller): boolean {
  if (run.excludeAuthor && run.actor === caller.actor) return false;
  return sets
    .filter(
      (one) => outcomeName(one) !== "passed" && enforcementName(one.enforcement) !== "advisory",
    )
    .every((one) =>
      hasOverrideRole(caller, one.overrideRole === "operator" ? "operator" : "admin"),
    );
}

function textOf({ sets, override }: PolicyResult): string {
  const lines = sets.flatMap((one) => [
    `Policy set ${one.set} (${enforcementName(one.enforcement)}): ${outcomeName(one)}`,
    ...(one.error === "" ? [] : [`  ${one.error}`]),
    ...one.findings.map(({ message, address, isWarning }) => {
      const about = address === "" ? "" : ` (${address})`;
      return `  ${isWarning ? "warns" : "forbids"}: ${message}${about}`;
    }),
    ...(one.cut === 0 ? [] : [`  and ${one.cut} more`]),
  ]);
  if (override !== undefined) lines.push(`Overridden by ${override.actor}: ${override.reason}`);
  return lines.map((line) => `${printed(line)}\n`).join("");
}

/** Texts of policies reach a terminal: nothing in them controls it. */
function printed(line: string): string {
  return line.replaceAll(/\p{C}/gu, " ").slice(0, LINE);
}
