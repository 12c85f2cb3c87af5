import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stackEnvironment } from "@stackwright/tfplugin/launch";
import { isServerError, ServerError } from "../domain/server-error.ts";
import type { ExecutionJob, ExecutionResult, HookStage, JobHook } from "./execution-job.ts";
import type { ExecutionSignals } from "./execution-signals.ts";
import type { ExecutionHost } from "./executor.ts";
import { type HookEnd, hookProblem, runHookProcess } from "./hook-process.ts";
import type { JobGround } from "./job-engine.ts";
import { secretsOf } from "./job-secrets.ts";

/** Characters of the output of a hook that reach the log of the run. */
const MAX_OUTPUT = 8 * 1024 * 1024;

/** Where hooks are executed. */
interface HookPlace {
  readonly job: ExecutionJob;
  readonly host: Pick<ExecutionHost, "onEvent">;
  readonly signals: ExecutionSignals;
  readonly ground: Pick<JobGround, "env">;
  /** Of the root module. */
  readonly directory: string;
}

/** What hooks of a stage are given beyond what all are. */
interface HookFacts {
  /** The plan as `terraform show -json` writes it, without secrets. */
  readonly planJson?: string;
  /** How the apply ended. */
  readonly result?: string;
}

/**
 * Executes the hooks of a stage, one after the other, in the folder of the root module. `hook_failed` for the first one that fails, unless it
 * only warns; what stopped them where they were stopped.
 */
export async function runHooks(
  place: HookPlace,
  stage: HookStage,
  facts: HookFacts = {},
): Promise<void> {
  const { job, signals } = place;
  for (const [index, hook] of (job.hooks ?? []).entries()) {
    if (hook.stage !== stage) continue;
    signals.stop.throwIfAborted();
    const problem = await runHook(place, hook, { ...facts, index });
    signals.stop.throwIfAborted();
    if (problem === undefined) continue;
    const text = `the hook "${hook.name}" (${stage}) ${problem}`;
    if (hook.onFailure === "fail") throw new ServerError("hook_failed", text);
    await say(place, hook, "warn", `${text}; the run continues`);
  }
}

/**
 * Executes the hooks of the end of an apply. What was applied stays so: a hook that fails is the reason that the run shows, and changes
 * nothing of how it ended.
 */
export async function runLastHooks(
  place: HookPlace,
  result: ExecutionResult,
): Promise<ExecutionResult> {
  const { phase } = result;
  const hasEnded = phase === "applied" || phase === "partially_applied" || phase === "failed";
  if (!hasEnded || place.signals.stop.aborted) return result;
  try {
    await runHooks(place, "after_apply", { result: phase });
    return result;
  } catch (error) {
    if (!isServerError(error, "hook_failed")) {
      if (place.signals.stop.aborted) return result;
      throw error;
    }
    if (phase !== "applied") return result;
    return { ...result, reason: error.message, reasonCode: error.code };
  }
}

async function runHook(
  place: HookPlace,
  hook: JobHook,
  { index, planJson, result }: HookFacts & { readonly index: number },
): Promise<string | undefined> {
  const { job, signals, ground, directory } = place;
  const planFile = join(job.folder, "plan.json");
  if (planJson !== undefined) await writeFile(planFile, planJson, { mode: 0o600 });
  const timeoutMs = hook.timeoutSeconds * 1_000;
  let written = 0;
  const end: HookEnd = await runHookProcess({
    ...signals,
    words: await wordsOf(job, hook, index),
    directory,
    timeoutMs,
    secrets: secretsOf(job),
    env: {
      ...stackEnvironment({ variables: job.environment, own: ground.env }),
      LANG: "C.UTF-8",
      HOME: job.folder,
      TMPDIR: job.folder,
      ...hook.environment,
      STACKWRIGHT_ACCOUNT: job.stack.account,
      STACKWRIGHT_PROJECT: job.stack.project,
      STACKWRIGHT_STACK: job.workspace,
      STACKWRIGHT_RUN: job.run,
      STACKWRIGHT_RUN_MODE: job.runMode ?? job.mode,
      STACKWRIGHT_HOOK: hook.name,
      STACKWRIGHT_HOOK_STAGE: hook.stage,
      ...(planJson !== undefined && { STACKWRIGHT_PLAN_JSON: planFile }),
      ...(result !== undefined && { STACKWRIGHT_APPLY_RESULT: result }),
    },
    onLine: (text) => {
      if (written > MAX_OUTPUT) return undefined;
      written += text.length + 1;
      return written > MAX_OUTPUT
        ? say(
            place,
            hook,
            "warn",
            "the hook writes more than the log of a run takes; the rest is left out",
          )
        : say(place, hook, "info", text);
    },
  });
  return hookProblem(end, timeoutMs);
}

/** The command of a hook; a script is a file, which the shell executes unless its first line names another program. */
async function wordsOf(
  { folder }: ExecutionJob,
  { command, script }: JobHook,
  index: number,
): Promise<readonly string[]> {
  if (script === "") return command;
  const file = join(folder, `hook-${index}`);
  await writeFile(file, script, { mode: 0o700 });
  return script.startsWith("#!") ? [file] : ["/bin/sh", "-e", file];
}

function say(
  { host }: HookPlace,
  { name }: JobHook,
  level: "info" | "warn",
  text: string,
): Promise<void> | undefined {
  return host.onEvent({ type: "log", source: `hook ${name}`, level, text }, Date.now());
}
