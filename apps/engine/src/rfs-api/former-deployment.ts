import type { NamedStack } from "@stackwright/core";
import { type RfsFormer, type RfsStack, type Run, Run_Mode } from "@stackwright/proto/stackwright";
import { leavesParts } from "../queue/next-stage.ts";
import { phaseOf } from "../queue/run-row.ts";

/** What is known of a stack before a deployment. */
interface FormerFacts {
  readonly stack: NamedStack;
  /** The id that the deployment has. */
  readonly run: string;
  /** Runs that changed the stack, newest first. */
  readonly runs: readonly Run[];
  /** The stack has no objects. */
  readonly isEmpty: boolean;
}

/**
 * What a stack goes back to when a deployment fails: the newest configuration that was deployed completely, by whichever client, with the values
 * that belong to it. A stack without objects goes back to none. Where neither is known, nothing is taken back.
 */
export function formerDeployment(
  record: Pick<RfsStack, "variables" | "variablesRun" | "deploymentRun" | "former">,
  { stack, run, runs, isEmpty }: FormerFacts,
): RfsFormer {
  const nothing = {
    run,
    stackName: stack.name,
    configuration: "",
    variables: new Uint8Array(),
    variablesRun: "",
    deploymentRun: "",
    empty: false,
  };
  const complete = runs.find(isComplete);
  if (complete === undefined || complete.mode === Run_Mode.MODE_DESTROY) {
    return { ...nothing, empty: isEmpty };
  }
  const { id, configuration } = complete;
  // Records of before there were rollbacks name the run of values alone.
  const deploymentRun = record.deploymentRun === "" ? record.variablesRun : record.deploymentRun;
  if (complete.variables.byteLength > 0 && id !== deploymentRun) {
    const own = { variables: complete.variables, variablesRun: id, deploymentRun: id };
    return { ...nothing, configuration, ...own };
  }
  const indexOf = (wanted: string) => runs.findIndex((one) => one.id === wanted);
  const given = indexOf(deploymentRun);
  if (deploymentRun === "" || (given !== -1 && indexOf(id) <= given)) {
    const { variables, variablesRun } = record;
    return { ...nothing, configuration, variables, variablesRun, deploymentRun };
  }
  // The values in the record are those of a deployment that was not complete.
  const { former } = record;
  return former === undefined ? nothing : { ...former, run, stackName: stack.name };
}

/** Whether a stack is as the configuration of a run says: a refresh records what is there, whatever its configuration says, and a stage may leave parts. */
function isComplete(run: Run): boolean {
  const phase = phaseOf(run);
  if (phase !== "applied" && phase !== "no_changes") return false;
  if (run.mode === Run_Mode.MODE_REFRESH_ONLY || leavesParts(run)) return false;
  return run.targets.length === 0;
}
