import { type NamedStack, StackDirectory, type StackReference } from "@stackwright/core";
import {
  type RfsExecutionPlan,
  Run_Mode,
  type RfsStack as StoredRfsStack,
} from "@stackwright/proto/stackwright";
import {
  type PlanPort,
  type RfsPlan,
  type RfsStack,
  RfsStacksError,
} from "@stackwright/rfs-stacks";
import { readStored } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, runPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { approveRun, discardRun } from "../queue/decide.ts";
import { addRun } from "../queue/enqueue.ts";
import { phaseOf } from "../queue/run-row.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { readText } from "../vcs/read-text.ts";
import { sealDeployedValues } from "../worker/deployed-values.ts";
import { openRunValues, sealRunValues } from "../worker/run-values.ts";
import { planItems } from "./plan-items.ts";
import type { RfsParts } from "./rfs-parts.ts";
import { isIdle } from "./rfs-runs.ts";
import { readFormer, recordFreshStart, updateRecord } from "./rfs-stacks.ts";
import { storeTemplate } from "./store-template.ts";

/** Execution plans of a stack. */
const MAX_PLANS = 100;
const NO_COUNTS = { add: 0, update: 0, delete: 0, import: 0 };

/** Execution plans of the RFS API: runs whose plan is kept to be applied later. A newer run of the stack makes them stale. */
export function rfsPlans(parts: RfsParts): PlanPort {
  const { storage } = parts;
  const directory = new StackDirectory({ storage });

  const named = async (account: string, { project, name, id }: RfsStack): Promise<NamedStack> => {
    const found = await directory.find({ account, project }, name);
    if (found?.reference.stack !== id) throw new ServerError("not_found", "the stack was deleted");
    return found;
  };
  const readRun = async (stack: StackReference, run: string) => {
    const found = await readStored(storage, "strong", idOf(RUN_KIND, runPlace({ stack, run })));
    return found && decodeRecord(RUN_KIND, found);
  };
  const summaryOf = async (stack: StackReference, run: string) => {
    const id = idOf(SERVER_KINDS.summary, runPlace({ stack, run }));
    const found = await readStored(storage, "strong", id);
    return found && decodeRecord(SERVER_KINDS.summary, found);
  };
  /** Undefined where the run is stored no more. */
  const viewOf = async (
    stack: StackReference,
    record: RfsExecutionPlan,
  ): Promise<RfsPlan | undefined> => {
    const run = await readRun(stack, record.run);
    if (run === undefined) return undefined;
    const summary = await summaryOf(stack, record.run);
    return {
      id: record.run,
      name: record.name,
      description: record.description,
      createdAtMs: Number(record.createdAtMs),
      appliedAtMs: Number(record.appliedAtMs),
      phase: phaseOf(run),
      reason: run.reason,
      hasPlan: run.planDigest !== "",
      counts:
        summary === undefined
          ? NO_COUNTS
          : {
              add: summary.create + summary.replace,
              update: summary.update,
              delete: summary.delete + summary.replace,
              import: summary.import,
            },
    };
  };
  const referenceOf = (account: string, { project, id }: RfsStack): StackReference => ({
    account,
    project,
    stack: id,
  });
  const listOf = async (stack: StackReference) => {
    const { tenancy, name: prefix } = memberPlace(stack, "");
    const found = await storage.list("strong", SERVER_KINDS.rfsPlan.type, tenancy, prefix);
    return found.map((resource) => decodeRecord(SERVER_KINDS.rfsPlan, resource));
  };

  return {
    find: async ({ account }, stack, name) => {
      const reference = referenceOf(account, stack);
      const id = idOf(SERVER_KINDS.rfsPlan, memberPlace(reference, name));
      const found = await readStored(storage, "strong", id);
      return found && viewOf(reference, decodeRecord(SERVER_KINDS.rfsPlan, found));
    },
    list: async ({ account }, stack) => {
      const reference = referenceOf(account, stack);
      const records = await listOf(reference);
      const plans = await Promise.all(records.map(async (record) => viewOf(reference, record)));
      return plans
        .filter((plan) => plan !== undefined)
        .toSorted((a, b) => b.createdAtMs - a.createdAtMs);
    },
    create: async (caller, stack, { name, description, ...configuration }, signal) => {
      const { account, actor } = caller;
      const found = await named(account, stack);
      const { reference } = found;
      const digest = await storeTemplate(parts, found, configuration, { actor, signal });
      await recordFreshStart(directory, parts, found, actor);
      const run = parts.token();
      // Also without values: those of the last deployment are not those of this plan.
      const plain = Object.fromEntries(configuration.variables);
      const variables = await sealRunValues(parts.keys, { stack: reference, run }, plain);
      return transact(parts, async (tx) => {
        const place = memberPlace(reference, name);
        const known = await tx.find(SERVER_KINDS.rfsPlan, place);
        const former =
          known &&
          (await tx.find(RUN_KIND, runPlace({ stack: reference, run: known.message.run })));
        if (former !== undefined) return "taken";
        if (!(await isIdle(tx, reference))) return "busy";
        // Each plan adds a run, and so writes the queue that was read: two at once do not both find room.
        if (known === undefined && (await listOf(reference)).length >= MAX_PLANS) {
          throw new RfsStacksError(
            "RFS_LIMIT_REACHED",
            `the stack has ${MAX_PLANS} execution plans; delete some first`,
          );
        }
        await addRun(tx, {
          reference: { stack: reference, run },
          stackName: found.name,
          configuration: digest,
          mode: Run_Mode.MODE_APPLY,
          actor,
          message: `execution plan ${name}`,
          savedPlan: true,
          autoApply: false,
          variables,
        });
        const createdAtMs = BigInt(tx.nowMs);
        const record = { name, run, description, createdAtMs, appliedAtMs: 0n };
        // One whose run is stored no more gives its name up.
        if (known === undefined) tx.create(SERVER_KINDS.rfsPlan, place, record);
        else tx.update(known, record);
        return { id: run };
      });
    },
    items: async ({ account }, stack, plan) => {
      const summary = await summaryOf(referenceOf(account, stack), plan.id);
      if (summary === undefined) return [];
      const until = AbortSignal.timeout(READ_MS);
      const text = await readText(parts.blobs, summary.documentSha256, until);
      if (text === undefined) {
        throw new ServerError("unprocessable", "the plan is too large to be shown as items");
      }
      return planItems(text);
    },
    apply: async ({ account, actor }, stack, plan) => {
      const reference = referenceOf(account, stack);
      const run = await readRun(reference, plan.id);
      if (run === undefined) throw new ServerError("not_found", "the execution plan was deleted");
      const values = await openRunValues(parts.keys, { stack: reference, run: run.id }, run);
      const given = new Map(Object.entries(values));
      const sealed = await sealDeployedValues(parts, reference, run.id, given);
      const former = await readFormer(parts, await named(account, stack), run.id);
      await transact(parts, async (tx) => {
        // Before the plan may be applied, which may fail at once; without an effect where it is not.
        await updateRecord(tx, reference, (record) => ({ former: former(record) }));
      });
      if (phaseOf(run) === "awaiting_approval") {
        const { planDigest } = run;
        await approveRun(parts, { stack: reference, run: run.id }, { actor, planDigest });
      }
      await transact(parts, async (tx) => {
        const row = await tx.get(SERVER_KINDS.rfsPlan, memberPlace(reference, plan.name));
        tx.update(row, { appliedAtMs: BigInt(tx.nowMs) });
        await updateRecord(tx, reference, (record) => ({
          deletionRun: "",
          ...(!isTakenBack(record, run.id) && { ...sealed, deploymentRun: run.id }),
        }));
      });
      return run.id;
    },
    remove: async ({ account, actor }, stack, plan) => {
      const reference = referenceOf(account, stack);
      if (plan.phase === "awaiting_approval" || plan.phase === "policy_failed") {
        const reason = "the execution plan was deleted";
        await discardRun(parts, { stack: reference, run: plan.id }, { actor, reason });
      }
      await transact(parts, async (tx) => {
        const row = await tx.find(SERVER_KINDS.rfsPlan, memberPlace(reference, plan.name));
        if (row?.message.run === plan.id) tx.remove(row);
      });
    },
  };
}

/** Whether a deployment has failed already, and the values of its stack are those again that the stack goes back to. */
function isTakenBack(
  { rollback, former }: Pick<StoredRfsStack, "rollback" | "former">,
  run: string,
): boolean {
  if (rollback?.deployment !== run || rollback.refusal !== "") return false;
  // A first deployment is destroyed with its own values.
  return former !== undefined && former.configuration !== "";
}

const READ_MS = 30_000;
