import { join } from "node:path";
import {
  type Configuration,
  configurationSchemas,
  createMeantSource,
  createRedactor,
  importedState,
  loadConfiguration,
  planToTerraformJson,
  readStateFile,
} from "@stackwright/core";
import { type Diagnostic, hasErrors } from "@stackwright/lang";
import { comparePlanJson } from "@stackwright/plan-view";
import { LOCK_FILE_NAME, LockFile, readLockFile } from "@stackwright/provider-source";
import { type ComparedPlans, MAX_LISTED, MAX_PLACE, MAX_SHOWN } from "../domain/compared-plans.ts";
import { readStateContent } from "../terraform-state/state-content.ts";
import { diagnosticEvent, firstError } from "./diagnostic-event.ts";
import type { ExecutionJob, ExecutionResult, JobShadow } from "./execution-job.ts";
import type { ExecutionSignals } from "./execution-signals.ts";
import type { ExecutionHost } from "./executor.ts";
import { uploadedFiles } from "./folder-files.ts";
import { ForwardedRuns } from "./forwarded-runs.ts";
import {
  type JobGround,
  jobEarlyValues,
  jobKeys,
  jobVariables,
  openJobEngine,
  openJobState,
} from "./job-engine.ts";
import { openJobModules } from "./job-modules.ts";
import { secretTextsOf } from "./job-secrets.ts";
import { otherAdopters, otherStacks } from "./other-stacks.ts";
import { readPlanJson, secretTextsOfJson } from "./plan-of-json.ts";
import { jobPrivateProviders } from "./private-providers.ts";
import { decodeToolPlan } from "./tool-plan.ts";
import { unpackBundle } from "./unpack-bundle.ts";

type ShadowJob = ExecutionJob & { readonly shadow: JobShadow };

/** An empty state, for a plan of a tool that had none. */
const NO_STATE =
  '{"version": 4, "terraform_version": "1.11.4", "serial": 0, "lineage": "", "outputs": {}, "resources": []}';

/**
 * Plans with the engine what a tool has planned, of the same configuration and the same state, which is in memory alone, and compares
 * the plans. Nothing is stored but what differs.
 */
export async function executeShadowJob(
  job: ShadowJob,
  host: ExecutionHost,
  { stop: signal }: ExecutionSignals,
  ground: JobGround,
): Promise<ExecutionResult> {
  await host.beginPlanning();
  const { stack, shadow, mode, targets, replace, workspace } = job;
  const stored = await openJobState(job, ground).plan(shadow.planDigest, { signal });
  const theirs = stored && decodeToolPlan(stored.bytes);
  if (theirs === undefined) return failed("the plan of the tool was removed");
  const bundle = await unpackBundle(job, ground.blobs, signal);
  const { root = "" } = job.configuration;
  const directory = join(bundle, root);
  const lockFile = await readLockFile(join(directory, LOCK_FILE_NAME), { signal });
  const files = uploadedFiles(bundle, root);
  const { blobs, env } = ground;
  const { packages } = await openJobModules({ job, host, blobs, files, directory, env, signal });
  const configuration = await loadConfiguration(files, {
    early: await jobEarlyValues(job, directory),
    packages,
    rfsTemplates: true,
    meantSource: createMeantSource({ lock: lockFile?.locks ?? LockFile.empty }),
  });
  const report = (found: readonly Diagnostic[]): void => {
    for (const one of found) void host.onEvent(diagnosticEvent(one), Date.now());
  };
  const variables = await jobVariables(job, configuration.root.config.variables, directory);
  const problems = [...configuration.diagnostics, ...variables.diagnostics];
  if (hasErrors(problems)) {
    report(problems);
    return failed(firstError(problems));
  }
  const state = importedState(stack, readStateFile(await stateText(job, ground)));
  const runs = new ForwardedRuns(job.run, "planning", async () =>
    Promise.reject(new TypeError("a comparison applies nothing")),
  );
  // Only objects are read: what a plan of the tool executed is not executed again.
  const stacks = otherStacks(host.readOtherStack);
  const findAdopter = otherAdopters(host.readOtherStack, stack);
  await using functions = jobPrivateProviders(host, job.ownHosts);
  const privateProviders = functions.origin;
  const opened = {
    configuration,
    directory,
    state,
    runs,
    stacks,
    findAdopter,
    host,
    privateProviders,
    signal,
  };
  const engine = await openJobEngine(job, ground, opened);
  const { plan, diagnostics } = await engine.plan({
    configuration,
    state,
    variables: variables.values,
    workspace,
    signal,
    options: {
      mode,
      targets,
      replace,
      ...(job.skipRefresh === true && { read: { kind: "never" } }),
    },
  });
  report(diagnostics);
  if (plan === undefined) return failed(firstError(diagnostics));
  const described = await describe(configuration, plan, engine);
  const ours = planToTerraformJson(plan, { described, secrets: "shown" });
  const compared = compare(job, ours, theirs.json);
  for (const { address, path, ours: mine, theirs: other } of compared.differences) {
    const text = `${address} ${path}: the engine plans ${mine ?? "nothing"}, the tool ${other ?? "nothing"}`;
    void host.onEvent({ type: "log", source: "shadow", level: "info", text }, Date.now());
  }
  return { phase: "compared", ...compared };
}

async function describe(
  configuration: Configuration,
  plan: Parameters<typeof configurationSchemas>[1],
  { catalog }: { readonly catalog: Parameters<typeof configurationSchemas>[2] },
) {
  return { configuration, schemas: await configurationSchemas(configuration, plan, catalog) };
}

async function stateText(job: ShadowJob, { blobs }: JobGround): Promise<string> {
  const { state } = job.shadow;
  if (state === undefined) return NO_STATE;
  const chunks: Uint8Array[] = [];
  const content = readStateContent({ blobs, keys: jobKeys(job) }, job.stack, state);
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** The differences, bounded, and without any secret of the stack or of one of the plans. */
function compare(job: ShadowJob, ours: string, theirs: string): ComparedPlans {
  const [mine, other] = [readPlanJson(ours), readPlanJson(theirs)];
  const found = comparePlanJson(mine, other);
  const secrets = createRedactor();
  for (const text of secretTextsOf(job)) secrets.add(text);
  for (const text of [...secretTextsOfJson(mine), ...secretTextsOfJson(other)]) secrets.add(text);
  const shown = (text: string, most: number): string => {
    const hidden = secrets.redact(text);
    return hidden.length > most ? `${hidden.slice(0, most - 1)}…` : hidden;
  };
  return {
    compared: found.compared,
    differing: found.differences.length,
    differences: found.differences.slice(0, MAX_LISTED).map((one) => ({
      address: shown(one.address, MAX_PLACE),
      path: shown(one.path, MAX_PLACE),
      ...(one.ours !== undefined && { ours: shown(one.ours, MAX_SHOWN) }),
      ...(one.theirs !== undefined && { theirs: shown(one.theirs, MAX_SHOWN) }),
    })),
  };
}

function failed(reason: string): ExecutionResult {
  return { phase: "failed", reason, reasonCode: "plan" };
}
