import { isDeepStrictEqual } from "node:util";
import type { StackReference } from "@stackwright/core";
import {
  type ProviderConstraint,
  type Run,
  Run_Mode,
  type RunTicket,
  RunTicket_Class,
  RunTicket_Step,
  type StackQueue,
} from "@stackwright/proto/stackwright";
import { recordedConstraints } from "../domain/recorded-constraints.ts";
import {
  memberPlace,
  RUN_KIND,
  type RunReference,
  stackPlace,
  ticketPlace,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { phaseOf } from "./run-row.ts";
import type { Row, Transaction } from "./transaction.ts";

/** The queue of a stack; the first run of the stack makes it. */
export async function readQueue(tx: Transaction, stack: StackReference): Promise<Row<StackQueue>> {
  return tx.findOrNew(SERVER_KINDS.queue, stackPlace(stack), () => ({
    current: "",
    pending: [],
    lastNumber: 0n,
    configuration: "",
    speculative: [],
    planSet: "",
    providerConstraints: [],
  }));
}

/**
 * Records that the stack is as the configuration of a run says: schedules go by it, and what is heard of newer providers.
 *
 * @param constraints what it allows of its providers, as the run found it in all of its modules. @default what was read at its upload
 */
export async function recordConfiguration(
  tx: Transaction,
  stack: StackReference,
  { mode, configuration }: Pick<Run, "mode" | "configuration">,
  constraints?: readonly ProviderConstraint[],
): Promise<void> {
  if (mode !== Run_Mode.MODE_APPLY) return;
  const row = await readQueue(tx, stack);
  const before = row.message;
  const isSame = before.configuration === configuration;
  if (isSame && constraints === undefined) return;
  const providerConstraints =
    constraints === undefined
      ? await constraintsOfUpload(tx, stack, configuration)
      : recordedConstraints(constraints);
  if (isSame && isDeepStrictEqual(before.providerConstraints, providerConstraints)) return;
  tx.update(row, { configuration, providerConstraints });
}

async function constraintsOfUpload(
  tx: Transaction,
  stack: StackReference,
  configuration: string,
): Promise<ProviderConstraint[]> {
  const version = await tx.find(SERVER_KINDS.configuration, memberPlace(stack, configuration));
  return version?.message.providerConstraints ?? [];
}

/** A ticket that no worker has claimed, with the attempts that were made of the step. */
export function freeTicket(
  {
    id: run,
    stack,
    attempts,
    pool,
    background,
    traceParent,
    applyTraceParent,
    protocol,
  }: Pick<
    Run,
    | "id"
    | "stack"
    | "attempts"
    | "pool"
    | "background"
    | "traceParent"
    | "applyTraceParent"
    | "protocol"
  >,
  step: RunTicket_Step,
  nowMs: number,
  ticketClass: RunTicket_Class = RunTicket_Class.CLASS_BLOCKING,
): RunTicket {
  return {
    run,
    stack,
    step,
    class: ticketClass,
    attempts,
    claim: undefined,
    createdAtMs: BigInt(nowMs),
    freeSinceMs: BigInt(nowMs),
    stuckNotedAtMs: 0n,
    pool,
    background: background && step === RunTicket_Step.STEP_PLAN,
    leftAtMs: 0n,
    protocol,
    traceParent:
      step === RunTicket_Step.STEP_PLAN || applyTraceParent === "" ? traceParent : applyTraceParent,
  };
}

/**
 * Takes an ended run out of the queue. Where it held the place of the stack, the next run that still waits gets it, and
 * a ticket with it.
 */
export async function leaveQueue(tx: Transaction, { stack, run }: RunReference): Promise<void> {
  const row = await readQueue(tx, stack);
  const { current, pending, speculative } = row.message;
  if (speculative.includes(run)) {
    tx.update(row, { speculative: speculative.filter((id) => id !== run) });
    return;
  }
  if (current !== run) {
    if (pending.includes(run)) tx.update(row, { pending: pending.filter((id) => id !== run) });
    return;
  }
  const rest = [...pending];
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    const reference = { stack, run: next };
    const waiting = await tx.find(RUN_KIND, {
      ...stackPlace(stack),
      name: `${stack.stack}.${next}`,
    });
    if (waiting === undefined || phaseOf(waiting.message) !== "queued") continue;
    // Another writer may end it at the same moment.
    tx.guardRow(waiting);
    tx.create(
      SERVER_KINDS.ticket,
      ticketPlace(reference),
      freeTicket(waiting.message, RunTicket_Step.STEP_PLAN, tx.nowMs),
    );
    tx.update(row, { current: next, pending: rest });
    return;
  }
  tx.update(row, { current: "", pending: [] });
}
