import { Value } from "@stackwright/cty";
import type { ApplyReply } from "@stackwright/mux/router";
import type { StepStatus } from "../events.ts";
import type { ResourceChange } from "../plan/change.ts";
import { destroyProvisioning, destroyScope } from "../planner/destroy-provisioners.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { OperationResult } from "../state/state-change.ts";
import { isPlaceholder, type ObjectKey, type StateObject } from "../state/state-object.ts";
import { markObject, withoutMarks } from "../walk/object-marks.ts";
import { isNotApplied } from "./apply-managed.ts";
import type { ApplyRun } from "./apply-run.ts";
import { deposedByRun } from "./deposed-object.ts";
import { resolveOperation } from "./resolve-operation.ts";
import { runProvisioners } from "./run-provisioners.ts";

/** Ends the object that a change takes away: the current one, the deposed one, or the one that a replacement deposed. */
export async function removeObject(
  run: ApplyRun,
  change: ResourceChange,
  ready: ReadyProvider,
  early: boolean,
): Promise<StepStatus> {
  const object = objectToRemove(run, change);
  if (object === undefined) return "done";
  if (run.given.stop.aborted) return "not-started";
  const key: ObjectKey = { address: object.address, deposed: object.deposed };
  const { writer, ulid } = run.given;
  const operation = ulid();
  const replace = change.action === "replace" || early;
  await writer.write({ kind: "delete", key, operation: { id: operation, replace } });
  const settle = async (outcome: OperationResult): Promise<void> => {
    await writer.write({ kind: "settle", key, operation, outcome });
  };
  if (!(await runDestroyProvisioners(run, change, ready))) {
    await settle({ kind: "untouched" });
    return "failed";
  }
  let reply: ApplyReply;
  try {
    reply = await callDelete(run, change, ready, operation);
  } catch (error) {
    if (run.given.force.aborted) return "unresolved";
    run.fail(
      "Provider call failed",
      `${key.address}: ${error instanceof Error ? error.message : String(error)}`,
      key.address,
    );
    if (isNotApplied(error)) {
      await settle({ kind: "untouched" });
      return "failed";
    }
    const pending = writer.object(key.address, key.deposed);
    if (pending?.operation === undefined) return "unresolved";
    const outcome = await resolveOperation(pending, pending.operation, ready.use, run.context);
    await settle(outcome);
    if (outcome.kind === "unresolved") run.fail("Outcome not known", outcome.problem, key.address);
    return outcome.kind === "unresolved" ? "unresolved" : "failed";
  }
  const failed = !run.reportBare(reply.diagnostics, key.address);
  if (reply.state.isNull && !failed) {
    await settle({ kind: "absent" });
    return "done";
  }
  if (reply.state.isNull) {
    // An error and no object: what was there is kept, so that a later run can look and try again.
    await settle({ kind: "untouched" });
    return "failed";
  }
  if (!failed)
    run.fail(
      "Provider produced inconsistent result after apply",
      `${key.address} was to be deleted and is there.`,
      key.address,
    );
  const block = ready.use.typeSchema(change.mode, change.type)?.block;
  const sensitive = object.value?.sensitive ?? [];
  const value = block === undefined ? reply.state : markObject(reply.state, block, sensitive);
  const content = run.content(change, ready, {
    value,
    privateBytes: reply.privateBytes,
    identity: reply.identity,
  });
  await settle({ kind: "exists", tainted: object.phase === "tainted", content });
  return "failed";
}

/**
 * Runs what is planned before the destruction of an object. The intent is written by then, so that an interruption is
 * noticed. Where the run itself was interrupted here, its provisioners may have run, and do not run again.
 */
async function runDestroyProvisioners(
  run: ApplyRun,
  change: ResourceChange,
  { use: { secrets } }: ReadyProvider,
): Promise<boolean> {
  const { address, before, provisioners } = change;
  const planned = provisioners?.some(({ when }) => when === "destroy") === true;
  if (!planned || before === undefined) return true;
  if (run.interruptedRemovals.has(address)) {
    run.fail(
      "Provisioners were interrupted",
      `The provisioners of ${address} that run before it is destroyed may have run when the run was interrupted. They are not repeated in the same run. Check what they did, then create a new plan.`,
      address,
    );
    return false;
  }
  const { configuration, world } = run.given;
  const { root, refactoring } = configuration;
  const found = destroyProvisioning(root, refactoring.removed, address);
  if (found === undefined) return true;
  const { provisioning, node } = found;
  const scope = destroyScope(world, node, { address, self: before });
  return runProvisioners({ run, change, provisioning, scope, secrets }, "destroy");
}

/** Of a replacement that created first, the object that made place. */
function objectToRemove(run: ApplyRun, change: ResourceChange): StateObject | undefined {
  const { writer } = run.given;
  if (change.action === "replace" && change.order === "create-first") {
    return deposedByRun(run.given.plan, writer, change);
  }
  const object = writer.object(change.address, change.deposed);
  return object !== undefined && isPlaceholder(object) ? undefined : object;
}

async function callDelete(
  run: ApplyRun,
  change: ResourceChange,
  { use }: ReadyProvider,
  operationId: string,
): Promise<ApplyReply> {
  const { before, words, type } = change;
  const prior = before === undefined ? Value.dynamic : withoutMarks(before);
  const nothing = Value.null(prior.type);
  return run.timed(change, "delete", async (context) =>
    use.provider.apply(
      {
        type,
        prior,
        config: nothing,
        planned: nothing,
        plannedPrivate:
          words.plannedPrivate.length > 0 && change.action === "delete"
            ? words.plannedPrivate
            : words.priorPrivate,
        ...(words.priorIdentity !== undefined && { plannedIdentity: words.priorIdentity }),
        operation: { operationId, epoch: run.given.writer.epoch },
      },
      context,
    ),
  );
}

/** Takes an object out of the record without a call: it is gone already, or given up. */
export async function removeFromState(run: ApplyRun, change: ResourceChange): Promise<StepStatus> {
  const { writer, ulid } = run.given;
  const { address, deposed } = change;
  const object = writer.object(address, deposed);
  if (object === undefined) return "done";
  const key = { address, deposed };
  const isGone =
    change.action === "create" || (change.action === "no-op" && object.mode === "managed");
  if (isGone && !isPlaceholder(object)) {
    // Gone, whether it is created again or not: what depends on it keeps its place.
    const id = ulid();
    await writer.write({ kind: "delete", key, operation: { id, replace: true } });
    await writer.write({ kind: "settle", key, operation: id, outcome: { kind: "absent" } });
    return "done";
  }
  if (!isPlaceholder(object)) await writer.write({ kind: "forget", key });
  return "done";
}
