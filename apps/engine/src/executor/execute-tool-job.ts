import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasErrors } from "@stackwright/lang";
import { LOCK_FILE_NAME, readLockFile } from "@stackwright/provider-source";
import { APPLY_UNKNOWN } from "../queue/stack-tool.ts";
import { readStateContent } from "../terraform-state/state-content.ts";
import { applyByTool } from "./apply-by-tool.ts";
import type { ExecutionResult } from "./execution-job.ts";
import type { ExecutionSignals } from "./execution-signals.ts";
import type { ExecutionHost } from "./executor.ts";
import { type JobGround, jobKeys, openJobState } from "./job-engine.ts";
import { secretsOf } from "./job-secrets.ts";
import { planByTool } from "./plan-by-tool.ts";
import { requireAdopted } from "./require-adopted.ts";
import { requireRootModule } from "./require-root-module.ts";
import { requireUsableVersions } from "./require-usable-providers.ts";
import { runHooks, runLastHooks } from "./run-hooks.ts";
import { prepareToolFolder, requireOwnBackend } from "./tool-folder.ts";
import {
  callTool,
  requireSuccess,
  rootModule,
  StepFailure,
  say,
  type ToolJob,
  type ToolStep,
} from "./tool-step.ts";
import { unpackBundle } from "./unpack-bundle.ts";

/**
 * Executes one step of a run by an installed program: in the unpacked configuration, with the state of the stack in a file, and with
 * the variables of the stack. The saved plan is what is applied. An apply whose outcome is not known is never begun again.
 */
export async function executeToolJob(
  job: ToolJob,
  host: ExecutionHost,
  signals: ExecutionSignals,
  ground: JobGround,
): Promise<ExecutionResult> {
  const { step, tool } = job;
  if (step === "recover") return unknownOutcome(job, signals, ground);
  try {
    if (step === "plan") await host.beginPlanning();
    const prepared = await prepare(job, host, signals, ground);
    if (step === "plan") return await planByTool(prepared);
    return await runLastHooks(
      { ...prepared, directory: prepared.folder.directory },
      await applyByTool(prepared),
    );
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    if (signals.stop.aborted) return { phase: "canceled", reason: "canceled" };
    return {
      phase: "failed",
      reason: `${tool.name}: ${error.message}`,
      reasonCode: error.reasonCode,
    };
  }
}

/**
 * The worker of an apply was lost. What the program did then is not known beyond the state that was recorded, so that nothing is done
 * again: somebody looks at the plan that the next run makes.
 */
async function unknownOutcome(
  job: ToolJob,
  { stop }: ExecutionSignals,
  ground: JobGround,
): Promise<ExecutionResult> {
  // The program ended with the hold of its executor.
  await using _hold = await openJobState(job, ground).acquire({ signal: stop });
  return {
    phase: "partially_applied",
    reason: `the outcome of the apply by ${job.tool.name} is not known: it was interrupted, and the state is as it was written last; compare the next plan with the real objects, as some may exist that the state does not have, and read in the log of the run whether a worker keeps a newer state`,
    reasonCode: APPLY_UNKNOWN,
  };
}

async function prepare(
  job: ToolJob,
  host: ExecutionHost,
  signals: ExecutionSignals,
  ground: JobGround,
): Promise<ToolStep> {
  const { tool } = job;
  const { stop: signal } = signals;
  const bundle = await unpackBundle(job, ground.blobs, signal);
  const { root = "" } = job.configuration;
  const directory = join(bundle, root);
  // The tool may add hashes to it.
  await chmod(join(directory, LOCK_FILE_NAME), 0o600).catch(() => undefined);
  await refuseForeignState(job, bundle, root, directory);
  const folder = await prepareToolFolder(job, directory, ground.env);
  const secrets = secretsOf(job);
  const step = { job, host, signals, ground, folder, bundle, secrets, version: "" };
  if (folder.dropped.length > 0) {
    say(
      step,
      `The variables ${folder.dropped.join(", ")} are set by the server, not by the stack.`,
    );
  }
  await runHooks({ ...step, directory }, job.step === "plan" ? "before_plan" : "before_apply");
  await requireRootModule(job, directory);
  if (tool.state !== undefined) {
    const { contentSha256 } = tool.state;
    const content = readStateContent({ blobs: ground.blobs, keys: jobKeys(job) }, job.stack, {
      contentSha256,
    });
    await writeFile(folder.statePath, content, { mode: 0o600 });
  }
  const version = await versionOf(step);
  if (tool.version !== "" && version !== tool.version) {
    throw new StepFailure(
      "tool_version",
      `the worker has the version ${version}, and the stack needs ${tool.version}`,
    );
  }
  const init = await callTool(step, ["init", "-input=false", "-no-color"]);
  requireSuccess(step, init, "init");
  await requireOwnBackend(folder);
  await requireUsableSelections(step);
  return { ...step, version };
}

/**
 * Refuses what `init` selected of a version that was withdrawn, put into quarantine or hidden from the account: a tool takes packages from a cache or a mirror of the
 * operator as well, without a question to this server. `init` starts no provider, and neither does anything before it.
 */
async function requireUsableSelections({ folder, host, signals }: ToolStep): Promise<void> {
  const { stop: signal } = signals;
  // Without providers no tool writes a lock file.
  const lock = await readLockFile(join(folder.directory, LOCK_FILE_NAME), { signal });
  const selected = Array.from(lock?.locks.providers.values() ?? [], ({ address, version }) => ({
    source: address.toString(),
    version: version.toString(),
  }));
  await requireUsableVersions(selected, host, signal);
}

/** An empty stack whose configuration has a state elsewhere is not planned, as its plan would create everything again. */
async function refuseForeignState(
  job: ToolJob,
  bundle: string,
  root: string,
  directory: string,
): Promise<void> {
  const { config, diagnostics } = rootModule(bundle, root);
  await requireAdopted(job, {
    root: hasErrors(diagnostics) ? undefined : config,
    directory,
    isEmpty: async () => Promise.resolve(job.tool.state === undefined),
  });
}

async function versionOf(step: ToolStep): Promise<string> {
  const end = await callTool(step, ["version", "-json"], { keepBytes: 64 * 1024 });
  requireSuccess(step, end, "version");
  try {
    const { terraform_version: version } = JSON.parse(end.output) as {
      terraform_version?: unknown;
    };
    if (typeof version === "string" && /^[0-9]/.test(version)) return version;
  } catch {
    // Said below.
  }
  throw new StepFailure("tool_output", `"version -json" names no version`);
}
