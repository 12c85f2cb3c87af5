import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  concealPlan,
  hasChanges,
  planToJson,
  planToTerraformJson,
  summarizePlan,
} from "@stackwright/core";
import { encodeJson, unmarkDeep } from "@stackwright/cty";
import { planView } from "@stackwright/plan-view";
import { driftOf } from "./drift-of.ts";
import type { ExecutionResult } from "./execution-job.ts";
import { jobVariables, openJobState } from "./job-engine.ts";
import { secretTextsOf } from "./job-secrets.ts";
import {
  planOfJson,
  provisionedResources,
  readPlanJson,
  secretTextsOfJson,
} from "./plan-of-json.ts";
import { runHooks } from "./run-hooks.ts";
import { encodeToolPlan } from "./tool-plan.ts";
import { callTool, requireSuccess, rootModule, StepFailure, type ToolStep } from "./tool-step.ts";

/** Bytes of a plan in JSON, and of a saved plan. */
const MAX_PLAN_BYTES = 256 * 1024 ** 2;

/** Plans by the tool, and stores its plan with what is shown of it. */
export async function planByTool(step: ToolStep): Promise<ExecutionResult> {
  const { job, ground, secrets, signals, version } = step;
  const { tool, mode, targets, replace } = job;
  const out = join(job.folder, "plan.out");
  const end = await callTool(step, [
    "plan",
    "-input=false",
    "-no-color",
    "-detailed-exitcode",
    `-out=${out}`,
    ...(await variableWords(step)),
    ...(mode === "destroy" ? ["-destroy"] : []),
    ...(mode === "refresh-only" ? ["-refresh-only"] : []),
    ...(job.skipRefresh === true ? ["-refresh=false"] : []),
    ...targets.map((address) => `-target=${address}`),
    ...replace.map((address) => `-replace=${address}`),
  ]);
  if (end.code !== 2) requireSuccess(step, end, "plan");
  const shown = await callTool(step, ["show", "-json", out], { keepBytes: MAX_PLAN_BYTES });
  requireSuccess(step, shown, "show -json");
  const stateNumber = tool.state?.number ?? "0";
  const plan = readPlan(step, shown.output, BigInt(stateNumber));
  const { json } = plan;
  const provisioned = job.provisioners ? [] : provisionedResources(json);
  if (provisioned.length > 0) {
    throw new StepFailure(
      "provisioners",
      `the project is not allowed to execute provisioners, which ${provisioned.slice(0, 5).join(", ")} has; see --provisioner-project`,
    );
  }
  for (const text of secretTextsOfJson(json)) secrets.add(text);
  const hidden = secretTextsOf(job);
  const concealed = concealPlan(plan.plan, hidden);
  const planJson = planToTerraformJson(concealed);
  await runHooks({ ...step, directory: step.folder.directory }, "after_plan", { planJson });
  const { applyable } = json as { readonly applyable?: unknown };
  const isEmpty =
    end.code === 0 && applyable !== true ? true : applyable === false && !hasChanges(plan.plan);
  if (isEmpty && tool.keepsPlan !== true) return { phase: "no_changes", revision: stateNumber };
  if ((await stat(out)).size > MAX_PLAN_BYTES) {
    throw new StepFailure("tool_output", "the saved plan is too large");
  }
  const bytes = encodeToolPlan({
    tool: tool.name,
    version,
    json: shown.output,
    file: await readFile(out),
    stateNumber,
  });
  const state = openJobState(job, ground);
  const { digest } = await state.storePlan(
    { baseRevision: BigInt(stateNumber), bytes },
    { signal: signals.stop },
  );
  if (isEmpty) return { phase: "no_changes", revision: stateNumber, planDigest: digest };
  const writing = { signal: signals.stop, owner: job.stack.account };
  const text = planToJson(plan.plan, digest, { secrets: hidden });
  const view = JSON.stringify(planView(concealed, { planDigest: digest }));
  const document = await ground.blobs.write(Buffer.from(text), writing);
  const kept = await ground.blobs.write(Buffer.from(planJson), writing);
  const viewed = await ground.blobs.write(Buffer.from(view), writing);
  const { read: _, ...summary } = summarizePlan(plan.plan);
  return {
    phase: "planned",
    planDigest: digest,
    baseRevision: stateNumber,
    summary,
    documentSha256: document.sha256,
    viewSha256: viewed.sha256,
    jsonSha256: kept.sha256,
    ...(job.findsDrift === true && { drift: driftOf(plan.plan, secrets) }),
  };
}

function readPlan({ job }: ToolStep, text: string, revision: bigint) {
  const { stack, workspace, mode, targets, replace } = job;
  try {
    const json = readPlanJson(text);
    const facts = { stack: stack.stack, revision, workspace, mode, targets, replace };
    return { json, plan: planOfJson(json, { ...facts, createdAtMs: Date.now() }) };
  } catch (error) {
    // A syntax error quotes the text, which may hold secrets.
    const why = error instanceof TypeError ? error.message : "it is not JSON";
    throw new StepFailure("tool_output", `"show -json" wrote no plan: ${why}`);
  }
}

/** Values that the stack and the run give to variables which the configuration declares, as a file of values. */
async function variableWords({ job, bundle, folder }: ToolStep): Promise<readonly string[]> {
  const { config } = rootModule(bundle, job.configuration.root ?? "");
  const { values } = await jobVariables(job, config.variables, folder.directory);
  const given = [...Object.keys(job.variables), ...Object.keys(job.runVariables ?? {})];
  const members = [...new Set(given)].flatMap((name) => {
    const value = values.get(name);
    if (value === undefined || !config.variables.has(name)) return [];
    return [`${JSON.stringify(name)}: ${encodeJson(unmarkDeep(value)[0])}`];
  });
  if (members.length === 0) return [];
  const path = join(job.folder, "stack.tfvars.json");
  await writeFile(path, `{${members.join(", ")}}`, { mode: 0o600 });
  return [`-var-file=${path}`];
}
