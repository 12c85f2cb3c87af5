import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { APPLY_UNKNOWN } from "../queue/stack-tool.ts";
import type { ExecutionResult } from "./execution-job.ts";
import { openJobState } from "./job-engine.ts";
import { readPlanJson, secretTextsOfJson } from "./plan-of-json.ts";
import { isRefused, StateRecorder } from "./state-recorder.ts";
import { decodeToolPlan } from "./tool-plan.ts";
import type { ToolEnd } from "./tool-process.ts";
import { callTool, errorOf, StepFailure, type ToolStep } from "./tool-step.ts";

/** Applies the saved plan by the tool, under the fence of the stack. */
export async function applyByTool(step: ToolStep): Promise<ExecutionResult> {
  const { job, host, ground, signals, secrets } = step;
  const { stop } = signals;
  const state = openJobState(job, ground);
  const stored = await state.plan(job.planDigest ?? "", { signal: stop });
  const plan = stored && decodeToolPlan(stored.bytes);
  if (plan === undefined || plan.tool !== job.tool.name) {
    throw new StepFailure("plan_missing", "the approved plan is not stored");
  }
  if (plan.version !== step.version) {
    throw new StepFailure(
      "tool_version",
      `the plan was made by the version ${plan.version}, and the worker has ${step.version}`,
    );
  }
  for (const text of secretTextsOfJson(readPlanJson(plan.json))) secrets.add(text);
  const file = join(job.folder, "plan.out");
  await writeFile(file, plan.file, { mode: 0o600 });
  await using hold = await state.acquire({ signal: stop });
  stop.throwIfAborted();
  await host.beginApply(hold.epoch);
  try {
    const force = AbortSignal.any([signals.force, hold.signal]);
    const recorder = new StateRecorder(step);
    await recorder.begin();
    const over = new AbortController();
    const watching = recorder.watch(over.signal);
    const end = await callTool({ ...step, signals: { stop, force } }, [
      "apply",
      "-input=false",
      "-no-color",
      file,
    ]).finally(() => over.abort());
    await watching;
    try {
      await recorder.finish(hold.signal);
    } catch (error) {
      return unstored(step, error, hold.signal.aborted);
    }
    return applied(step, end, recorder.hasChanged, hold.signal.aborted);
  } catch (error) {
    // It began: what it did is known by the state alone, which the next executor leaves as it is.
    return { phase: "interrupted", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** How an apply ends whose last state is not stored. Only where it was refused is there nothing to wait for. */
function unstored({ job }: ToolStep, error: unknown, isLost: boolean): ExecutionResult {
  const why = error instanceof Error ? error.message : String(error);
  const reason = `the last state that ${job.tool.name} wrote could not be stored: ${why}`;
  return isLost || !isRefused(error)
    ? { phase: "interrupted", reason }
    : { phase: "partially_applied", reason, reasonCode: APPLY_UNKNOWN };
}

function applied(
  step: ToolStep,
  end: ToolEnd,
  hasChanged: boolean,
  isLost: boolean,
): ExecutionResult {
  const { name } = step.job.tool;
  if (end.code === 0) return { phase: "applied" };
  if (end.code === undefined || isLost) {
    return { phase: "interrupted", reason: `${name} was ended while it applied the plan` };
  }
  const isStopped = step.signals.stop.aborted;
  const reason = isStopped ? "canceled" : `${name}: ${errorOf(end)}`;
  if (hasChanged) return { phase: "partially_applied", reason };
  return isStopped
    ? { phase: "canceled", reason }
    : { phase: "failed", reason, reasonCode: "tool" };
}
