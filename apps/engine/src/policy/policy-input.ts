import {
  concealPlan,
  decodePlan,
  type Plan,
  planToTerraformJson,
  type StackState,
} from "@stackwright/core";
import { type Run, Run_Mode } from "@stackwright/proto/stackwright";
import { modeNameOf } from "../domain/run-modes.ts";
import { planOfJson, readPlanJson } from "../executor/plan-of-json.ts";
import { readToolPlanJson } from "../executor/tool-plan.ts";
import { POLICY_LIMITS } from "./policy-limits.ts";

type StoredPlan = NonNullable<Awaited<ReturnType<StackState["plan"]>>>;

/** Bytes of what a tool shows of its plan: the document has less of it. */
const MAX_TOOL_BYTES = 2 * POLICY_LIMITS.inputBytes;

/**
 * The plan of a run as policies see it: the stored one in the form of `terraform show -json`, without secrets. `too_large` for that of a
 * tool which no policy could judge.
 */
export async function renderPolicyPlan(
  state: StackState,
  planDigest: string,
  secrets: readonly string[],
): Promise<string | undefined> {
  const stored = await state.plan(planDigest);
  if (stored === undefined) return undefined;
  const plan = await planOf(stored, state.reference.stack);
  return planToTerraformJson(concealPlan(plan, secrets));
}

/** A run with the names of its place. */
interface NamedRun {
  readonly project: string;
  readonly stackName: string;
  readonly run: Run;
}

/** The document that policies are given. `plan` is JSON. */
export function policyInput(
  plan: string,
  { project, stackName, run }: NamedRun,
): Uint8Array<ArrayBuffer> {
  const facts = JSON.stringify({
    run: runFacts(run),
    stack: { name: stackName },
    project: { name: project },
  });
  return new TextEncoder().encode(`${facts.slice(0, -1)},"plan":${plan}}`);
}

function runFacts(run: Run) {
  const { id, actor, cause, message, configuration, targets, replace, autoApply } = run;
  return {
    id,
    number: Number(run.number),
    mode: modeNameOf(run.mode) ?? "apply",
    actor,
    cause,
    message,
    configuration,
    targets,
    replace,
    plan_only: run.planOnly || run.mode === Run_Mode.MODE_PLAN_ONLY,
    auto_apply: autoApply,
  };
}

/** The plan of the engine, or that of a tool as far as its JSON form says it. */
async function planOf(
  { bytes, baseRevision, createdAtMs }: StoredPlan,
  stack: string,
): Promise<Plan> {
  const shown = await readToolPlanJson(bytes, MAX_TOOL_BYTES);
  if (shown === undefined) return decodePlan(bytes);
  return planOfJson(readPlanJson(shown), {
    stack,
    revision: baseRevision,
    workspace: "",
    mode: "normal",
    createdAtMs,
    targets: [],
    replace: [],
  });
}
