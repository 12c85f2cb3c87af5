import { type NamedStack, StackDirectory, type StackReference } from "@stackwright/core";
import {
  Project_AutoApply,
  type RfsFormer,
  type Run,
  Run_Mode,
  type RfsStack as StoredRfsStack,
} from "@stackwright/proto/stackwright";
import type { RfsConfiguration, RfsStack, StackPort } from "@stackwright/rfs-stacks";
import { readStored } from "@stackwright/storage";
import { defaultProject, projectPlace, requiresApproval } from "../domain/project-settings.ts";
import { RUN_KIND, runPlace, STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { addStack } from "../queue/add-stack.ts";
import { addRun } from "../queue/enqueue.ts";
import { addRollback, ROLLBACK } from "../queue/request-rollback.ts";
import { phaseOf } from "../queue/run-row.ts";
import { idOf, type Transaction, transact } from "../queue/transaction.ts";
import { serveState } from "../terraform-state/served-state.ts";
import { readRfsStack, sealDeployedValues } from "../worker/deployed-values.ts";
import { formerDeployment } from "./former-deployment.ts";
import { isDeletionDone, removeRfsStack } from "./remove-rfs-stack.ts";
import { rfsEvents } from "./rfs-events.ts";
import type { RfsParts } from "./rfs-parts.ts";
import { rfsOutputs, rfsResources } from "./rfs-resources.ts";
import { deploymentsOf, deploymentView, isIdle, isOfConfiguration } from "./rfs-runs.ts";
import { templateFileOf } from "./stack-template.ts";
import { storeTemplate } from "./store-template.ts";

/** Deployments whose events a list has. */
const LISTED_DEPLOYMENTS = 20;
const FINISHED: ReadonlySet<string> = new Set([
  "applied",
  "no_changes",
  "partially_applied",
  "failed",
  "canceled",
]);

/** The stacks of this server for the RFS API: its projects are those of stacks, its runs are deployments. */
export function rfsStacks(parts: RfsParts): StackPort {
  const { storage } = parts;
  const directory = new StackDirectory({ storage });

  const named = async (
    account: string,
    { project, name, id }: Pick<RfsStack, "project" | "name" | "id">,
  ): Promise<NamedStack> => {
    const found = await directory.find({ account, project }, name);
    if (found?.reference.stack !== id) throw new ServerError("not_found", "the stack was deleted");
    return found;
  };
  const find = async (account: string, project: string, name: string) =>
    findRfsStack(parts, { account, project }, name);

  return {
    find: async ({ account }, project, name) => find(account, project, name),
    list: async ({ account }, project) => {
      const all = await directory.list({ account, project });
      return all
        .toSorted((a, b) => b.createdAtMs - a.createdAtMs)
        .map(({ name, reference }) => ({ name, id: reference.stack }));
    },
    create: async (caller, project, { name, ...settings }) => {
      const { account } = caller;
      if ((await find(account, project, name)) !== undefined) return undefined;
      const isMade = await transact(parts, async (tx) => {
        const stack = await addStack(tx, { account, project }, name);
        // Another request was faster.
        if (stack === undefined) return false;
        const given = { ...settings, updatedAtMs: BigInt(tx.nowMs) };
        tx.create(SERVER_KINDS.rfsStack, stackPlace(stack.reference), { ...NOTHING, ...given });
        return true;
      });
      return isMade ? find(account, project, name) : undefined;
    },
    change: async ({ account }, stack, { description, deletionProtection, autoRollback }) => {
      const { reference } = await named(account, stack);
      await changeRecord(parts, reference, {
        ...(description !== undefined && { description }),
        ...(deletionProtection !== undefined && { deletionProtection }),
        ...(autoRollback !== undefined && { autoRollback }),
      });
    },
    deploy: async ({ account, actor }, stack, configuration, signal) => {
      const message = "deployed by the RFS API";
      const given = { run: parts.token(), actor, message };
      return deployRfsStack(parts, await named(account, stack), configuration, given, signal);
    },
    deployAgain: async ({ account, actor }, stack) => {
      const found = await named(account, stack);
      const { reference } = found;
      const last = await lastConfiguration(parts, reference);
      if (last === undefined) throw new ServerError("conflict", "the stack has no deployment");
      const run = parts.token();
      return transact(parts, async (tx) => {
        if (!(await isIdle(tx, reference))) return undefined;
        await updateRecord(tx, reference, ({ former }) => ({
          former: former && { ...former, run },
        }));
        await addRun(tx, {
          reference: { stack: reference, run },
          stackName: found.name,
          configuration: last.configuration,
          mode: Run_Mode.MODE_APPLY,
          actor,
          message: "continued by the RFS API",
          retryOf: last.id,
          ...(await autoApplyOf(tx, reference)),
        });
        return run;
      });
    },
    rollBackAgain: async ({ account, actor }, stack) => {
      const { reference } = await named(account, stack);
      return transact(parts, async (tx) => {
        if (!(await isIdle(tx, reference))) return undefined;
        const record = await tx.get(SERVER_KINDS.rfsStack, stackPlace(reference));
        const { rollback } = record.message;
        if (rollback === undefined) {
          throw new ServerError("conflict", "the stack has no deployment to be taken back");
        }
        const failed = { stack: reference, run: rollback.deployment };
        const { message } = await tx.get(RUN_KIND, runPlace(failed));
        const run = await addRollback(tx, { reference: failed, record, failed: message, actor });
        if (run !== undefined) return run;
        throw new ServerError("conflict", record.message.rollback?.refusal);
      });
    },
    remove: async ({ account, actor }, stack) => {
      const given = { run: parts.token(), actor, message: "deleted by the RFS API" };
      return destroyRfsStack(parts, await named(account, stack), given);
    },
    events: async ({ account }, stack, deployment) => {
      const { reference } = await named(account, stack);
      const runs = await deploymentsOf(storage, reference);
      const idsOf = (some: readonly Run[]) => some.map(({ id }) => id);
      if (deployment === undefined) {
        return rfsEvents(storage, reference, idsOf(runs.slice(0, LISTED_DEPLOYMENTS)));
      }
      if (!runs.some(({ id }) => id === deployment)) return undefined;
      // What took it back belongs to it.
      const cause = `${ROLLBACK}${deployment}`;
      const own = runs.filter((run) => run.id === deployment || run.cause === cause);
      return rfsEvents(storage, reference, idsOf(own));
    },
    outputs: async ({ account }, stack) => rfsOutputs(parts, await named(account, stack)),
    resources: async ({ account }, stack) => rfsResources(parts, await named(account, stack)),
    templateOf: async ({ account }, stack) => {
      const { reference } = await named(account, stack);
      const runs = await deploymentsOf(storage, reference);
      return runs.find((run) => isOfConfiguration(run) && FINISHED.has(phaseOf(run)))?.id;
    },
    templateFile: async ({ account, project, stack, deployment }) => {
      const reference = { account, project, stack };
      const run = (await deploymentsOf(storage, reference)).find(({ id }) => id === deployment);
      return run && templateFileOf(parts, reference, run.configuration);
    },
  };
}

/** A stack with the run that says how it is; undefined where there is none. One whose deletion has ended is removed: a server that stopped meanwhile left it. */
export async function findRfsStack(
  parts: RfsParts,
  { account, project }: Pick<StackReference, "account" | "project">,
  name: string,
): Promise<RfsStack | undefined> {
  const { storage } = parts;
  const stack = await new StackDirectory({ storage }).find({ account, project }, name);
  if (stack === undefined) return undefined;
  const record = await readRfsStack(parts, stack.reference);
  const isDone = await isDeletionDone(parts, stack, record.deletionRun);
  if (isDone && (await removeDeleted(parts, stack))) return undefined;
  const runs = await deploymentsOf(storage, stack.reference);
  return {
    id: stack.reference.stack,
    name,
    project,
    description: record.description === "" ? stack.description : record.description,
    deletionProtection: record.deletionProtection,
    autoRollback: record.autoRollback,
    createdAtMs: stack.createdAtMs,
    updatedAtMs: Number(record.updatedAtMs),
    deployment: deploymentView(runs, record),
  };
}

/** Removes a stack whose objects are gone; false where something still uses it, such as a plan set that has not ended: who asks next does it. */
async function removeDeleted(parts: RfsParts, stack: NamedStack): Promise<boolean> {
  try {
    await removeRfsStack(parts, stack);
    return true;
  } catch (error) {
    parts.logger.warn({ err: error, stack: stack.name }, "a deleted stack could not be removed");
    if (error instanceof ServerError && error.code === "conflict") return false;
    throw error;
  }
}

/** A run that is requested: its id, by whom and why. */
interface RequestedRun {
  readonly run: string;
  readonly actor: string;
  readonly message: string;
}

/** Requests the run that deploys a configuration; undefined while another one is in progress. A second request of the same run changes nothing. */
export async function deployRfsStack(
  parts: RfsParts,
  found: NamedStack,
  configuration: RfsConfiguration,
  { run, actor, message }: RequestedRun,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { reference } = found;
  const digest = await storeTemplate(parts, found, configuration, { actor, signal });
  await recordFreshStart(new StackDirectory(parts), parts, found, actor);
  const values = await sealDeployedValues(parts, reference, run, configuration.variables);
  const former = await readFormer(parts, found, run);
  return transact(parts, async (tx) => {
    if (await isRequested(tx, reference, run)) return run;
    if (!(await isIdle(tx, reference))) return undefined;
    await updateRecord(tx, reference, (record) => ({
      ...values,
      deploymentRun: run,
      deletionRun: "",
      former: former(record),
      rollback: undefined,
    }));
    await addRun(tx, {
      reference: { stack: reference, run },
      stackName: found.name,
      configuration: digest,
      mode: Run_Mode.MODE_APPLY,
      actor,
      message,
      ...(await autoApplyOf(tx, reference)),
    });
    return run;
  });
}

/**
 * Requests the run that destroys the objects of a stack, which is then removed; one without objects is removed at once. False while another
 * run is in progress. A second request of the same run changes nothing.
 */
export async function destroyRfsStack(
  parts: RfsParts,
  found: NamedStack,
  { run, actor, message }: RequestedRun,
): Promise<boolean> {
  const { reference } = found;
  const last = await lastConfiguration(parts, reference);
  if (last === undefined || !(await hasObjects(parts, found))) {
    await removeRfsStack(parts, found);
    return true;
  }
  return transact(parts, async (tx) => {
    if (await isRequested(tx, reference, run)) return true;
    if (!(await isIdle(tx, reference))) return false;
    const record = await updateRecord(tx, reference, () => ({ deletionRun: run }));
    // It was set since the request was checked.
    if (record.deletionProtection) {
      throw new ServerError(
        "deletion_protected",
        `the stack "${found.name}" is protected from deletion; set enable_deletion_protection to false first`,
      );
    }
    await addRun(tx, {
      reference: { stack: reference, run },
      stackName: found.name,
      configuration: last.configuration,
      mode: Run_Mode.MODE_DESTROY,
      actor,
      message,
      ...(await autoApplyOf(tx, reference)),
    });
    return true;
  });
}

async function isRequested(tx: Transaction, stack: StackReference, run: string): Promise<boolean> {
  return (await tx.find(RUN_KIND, runPlace({ stack, run }))) !== undefined;
}

/** What is kept of a stack of which nothing is known yet. */
export const NOTHING: StoredRfsStack = {
  description: "",
  deletionProtection: false,
  updatedAtMs: 0n,
  variables: new Uint8Array(),
  variablesRun: "",
  deletionRun: "",
  autoRollback: false,
  deploymentRun: "",
  former: undefined,
  rollback: undefined,
  stackSet: "",
};

type RecordChange = Partial<StoredRfsStack>;

async function changeRecord(
  parts: RfsParts,
  stack: StackReference,
  change: RecordChange,
): Promise<void> {
  await transact(parts, async (tx) => {
    await updateRecord(tx, stack, () => change);
  });
}

/** Changes what is kept of a stack, in a step with other things. Returns what there is then. */
export async function updateRecord(
  tx: Transaction,
  stack: StackReference,
  change: (record: StoredRfsStack) => RecordChange,
): Promise<StoredRfsStack> {
  const place = stackPlace(stack);
  const row = await tx.findOrNew(SERVER_KINDS.rfsStack, place, () => ({ ...NOTHING }));
  tx.update(row, { ...change(row.message), updatedAtMs: BigInt(tx.nowMs) });
  return row.message;
}

/** A deployment is applied without a question, where the project allows that; elsewhere it waits for its approvals. */
async function autoApplyOf(
  tx: Transaction,
  stack: StackReference,
): Promise<{ readonly autoApply?: true }> {
  const project = await tx.find(SERVER_KINDS.project, projectPlace(stack));
  const rules = project?.message ?? defaultProject(stack.project);
  const isAllowed =
    rules.autoApply === Project_AutoApply.AUTO_APPLY_ALWAYS || !requiresApproval(rules);
  return isAllowed ? { autoApply: true } : {};
}

/** The last run that deployed, or was to deploy, a configuration. */
async function lastConfiguration(
  { storage }: RfsParts,
  stack: StackReference,
): Promise<Run | undefined> {
  return (await deploymentsOf(storage, stack)).find(isOfConfiguration);
}

/** The template that a stack was made with is no state elsewhere. */
export async function recordFreshStart(
  directory: StackDirectory,
  { clock }: Pick<RfsParts, "clock">,
  { reference, name, adoption }: NamedStack,
  actor: string,
): Promise<void> {
  if (adoption !== undefined) return;
  await directory.recordOrigin(reference, name, {
    kind: "fresh",
    timeMs: clock.wallMs(),
    actor,
    evidence: ["a deployment was requested by the RFS API"],
    forced: false,
  });
}

/** What a stack goes back to when a deployment that is requested now fails, by its record; nothing where it does not want that. */
export async function readFormer(
  parts: RfsParts,
  stack: NamedStack,
  run: string,
): Promise<(record: StoredRfsStack) => RfsFormer | undefined> {
  const { autoRollback } = await readRfsStack(parts, stack.reference);
  if (!autoRollback) return () => undefined;
  const runs = await deploymentsOf(parts.storage, stack.reference);
  const isEmpty = !(await hasObjects(parts, stack));
  return (record) => formerDeployment(record, { stack, run, runs, isEmpty });
}

/** Whether anything of a stack is recorded that a removal would lose. */
async function hasObjects(parts: RfsParts, stack: NamedStack): Promise<boolean> {
  const id = idOf(STACK_HEAD_KIND, stackPlace(stack.reference));
  if ((await readStored(parts.storage, "strong", id)) === undefined) {
    return (await serveState(parts, stack)) !== undefined;
  }
  const resources = await rfsResources(parts, stack);
  return resources.length > 0;
}
