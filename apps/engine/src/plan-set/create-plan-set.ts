import type { StackReference } from "@stackwright/core";
import { PlanSet, PlanSet_Phase, PlanSetMember, Run_Mode } from "@stackwright/proto/stackwright";
import { isSetEnded } from "../domain/plan-set-phases.ts";
import {
  memberPlace,
  planSetPlace,
  projectTenancy,
  STACK_KIND,
  STACK_OUTPUTS_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { isOutside, readStackTool } from "../queue/stack-tool.ts";
import { type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import { type PlanSetReference, placeOfSet } from "./plan-set-reference.ts";
import { wayBetween } from "./set-order.ts";

/** Most stacks of a set: each is a write of the batch that creates it. */
export const MAX_MEMBERS = 20;

/** A set that is requested. */
interface NewPlanSet {
  readonly reference: PlanSetReference;
  readonly members: readonly {
    readonly stack: StackReference;
    readonly name: string;
    readonly configuration: string;
  }[];
  readonly mode: Run_Mode;
  readonly actor: string;
  readonly message: string;
  /** Is given the set before it is stored. @default nothing is */
  readonly onMade?: (set: PlanSet) => void;
}

/**
 * Creates a set; its runs are requested by what advances it. A stack is in one set at a time that is to be applied: two sets whose runs wait
 * for each other's in different queues would wait forever. `conflict` where a stack is in another one, `unprocessable` for an unknown
 * configuration and for a stack that another tool plans.
 */
export async function createPlanSet(parts: TransactionParts, given: NewPlanSet): Promise<PlanSet> {
  const { reference, members, mode, actor, message, onMade } = given;
  return transact(parts, async (tx) => {
    for (const member of members) {
      await requirePlannable(tx, member);
      if (mode !== Run_Mode.MODE_PLAN_ONLY) await takeStack(tx, reference, member);
    }
    const reads = mode === Run_Mode.MODE_DESTROY ? await recordedReads(tx, members) : new Map();
    const now = BigInt(tx.nowMs);
    const set = PlanSet.create({
      id: reference.set,
      phase: PlanSet_Phase.PHASE_PLANNING,
      members: members.map(({ stack: { stack }, name: stackName, configuration }) =>
        PlanSetMember.create({
          stack,
          stackName,
          configuration,
          run: tx.makeId(),
          reads: reads.get(stack) ?? [],
        }),
      ),
      mode,
      actor,
      message,
      createdAtMs: now,
      updatedAtMs: now,
      traceParent: tx.traceParent,
    });
    tx.create(SERVER_KINDS.planSet, placeOfSet(reference), set);
    onMade?.(set);
    return set;
  });
}

/**
 * The members that the states of others were made with: these are destroyed before what they read. `unprocessable` for stacks that read one
 * another, of which none could be the first.
 */
async function recordedReads(
  tx: Transaction,
  members: NewPlanSet["members"],
): Promise<ReadonlyMap<string, string[]>> {
  const reads = new Map<string, string[]>();
  const keyOf = ({ account, project, stack }: StackReference): string =>
    `${account}/${project}/${stack}`;
  const known = new Map(members.map(({ stack }) => [keyOf(stack), stack.stack]));
  for (const { stack } of members) {
    const recorded = await tx.find(STACK_OUTPUTS_KIND, stackPlace(stack));
    const others = (recorded?.message.inputs ?? []).flatMap((input) => {
      const other = known.get(keyOf(input));
      return other === undefined || other === stack.stack ? [] : [other];
    });
    reads.set(stack.stack, [...new Set(others)]);
  }
  const reading = members.map(({ stack: { stack }, name: stackName }) => ({
    stack,
    stackName,
    reads: reads.get(stack) ?? [],
  }));
  for (const { stack, stackName, reads: others } of reading) {
    for (const other of others) {
      const way = wayBetween(reading, other, stack);
      if (way === undefined) continue;
      const names = [stackName, ...way].map((one) => `"${one}"`).join(" reads ");
      throw new ServerError(
        "unprocessable",
        `stacks read one another in a circle: ${names}; destroy them one by one`,
      );
    }
  }
  return reads;
}

async function requirePlannable(
  tx: Transaction,
  { stack, name, configuration }: NewPlanSet["members"][number],
): Promise<void> {
  const named = await tx.get(STACK_KIND, { tenancy: projectTenancy(stack), name });
  if (named.message.id !== stack.stack) throw new ServerError("not_found");
  const version = await tx.find(SERVER_KINDS.configuration, memberPlace(stack, configuration));
  if (version === undefined) {
    throw new ServerError(
      "unprocessable",
      `the stack ${name} has no configuration version ${configuration}; upload it first`,
    );
  }
  const { message } = await readStackTool(tx, stack);
  if (!isOutside(message)) return;
  throw new ServerError(
    "unprocessable",
    `${message.tool} plans the stack ${name}, and its planned outputs are not known to the others; leave it out`,
  );
}

/** Notes in the queue of a stack that it is in a set. */
async function takeStack(
  tx: Transaction,
  { project, set }: PlanSetReference,
  { stack, name }: NewPlanSet["members"][number],
): Promise<void> {
  const queue = await readQueue(tx, stack);
  const { planSet: other } = queue.message;
  const holder =
    other === "" ? undefined : await tx.find(SERVER_KINDS.planSet, planSetPlace(project, other));
  if (holder !== undefined && !isSetEnded(holder.message.phase)) {
    throw new ServerError(
      "conflict",
      `the stack ${name} is in the plan set ${other}, which has not ended; discard or cancel that first`,
    );
  }
  tx.update(queue, { planSet: set });
}
