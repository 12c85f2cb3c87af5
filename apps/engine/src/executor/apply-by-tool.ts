import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { APPLY_UNKNOWN } from "../queue/stack-tool.ts";
import type { ExecutionResult } from "./execution-job.ts";
import { openJobState } from "./job-engine.ts";
import { readPlanJson, secretTextsOfJson } from "./plan-of-json.ts";
import { isRefused, StateRecorder } from "./state-recorder.ts";
import { decodeToolPlan } from "./tool-plan.ts";
import type { ToolEnd } from "./tool-process.ts";
import { callTool, errorOf, StepFailure, say, type ToolStep } from "./tool-step.ts";

/** How the error of a program begins that could not lock its state, and has done nothing. */
const LOCK_ERROR = "Error: Error acquiring the state lock";

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
    const end = await callTool(
      { ...step, signals: { stop, force } },
      ["apply", "-input=false", "-no-color", file],
      { takesStates: true },
    ).finally(() => over.abort());
    await watching;
    // A program that ends well has written its state.
    const printed = end.code === 0 ? undefined : end.printedState;
    if (printed !== undefined) {
      say(
        step,
        `${job.tool.name} could write its state nowhere and printed it, with its secrets: it is stored in the stack, and not shown.`,
      );
    }
    try {
      const isUnlocked = errorOf(end).startsWith(LOCK_ERROR);
      await recorder.finish(hold.signal, { printed, isUnlocked });
    } catch (error) {
      // The worker keeps it, if there is space by now.
      if (printed !== undefined) await writeErrored(step, printed);
      return unstored(step, error, hold.signal.aborted);
    }
    return applied(step, end, recorder.hasChanged, hold.signal.aborted);
  } catch (error) {
    // It began: what it did is known by the state alone, which the next executor leaves as it is.
    return { phase: "interrupted", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Writes a state where the tool would have written it; nothing where that is not possible. */
async function writeErrored({ folder: { erroredPath } }: ToolStep, content: string): Promise<void> {
  const path = `${erroredPath}.part`;
  try {
    await writeFile(path, content, { mode: 0o600 });
    await rename(path, erroredPath);
  } catch {
    await rm(path, { force: true });
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
