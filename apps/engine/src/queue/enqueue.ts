import { isEnded, STORED_RUN_PHASES, type StackReference } from "@stackwright/core";
import {
  Project_AutoApply,
  Run,
  Run_Mode,
  Run_Phase,
  type RunImport,
  RunStage,
  RunTicket_Class,
  RunTicket_Step,
} from "@stackwright/proto/stackwright";
import { requireServerKeys } from "../domain/key-mode.ts";
import { poolOf } from "../domain/project-settings.ts";
import {
  memberPlace,
  projectTenancy,
  RUN_KIND,
  type RunReference,
  runPlace,
  STACK_KIND,
  ticketPlace,
} from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "./append-events.ts";
import { guardedProject, requireAutoApply } from "./auto-apply-rule.ts";
import { RUN_PROTOCOL } from "./run-protocol.ts";
import { isSpeculative, phaseOf } from "./run-row.ts";
import { freeTicket, readQueue } from "./stack-queue.ts";
import { requireRunTool } from "./state-owner.ts";
import { supersedeOlder, supersedeSavedPlan } from "./supersede.ts";
import { type Transaction, type TransactionParts, transact } from "./transaction.ts";
import { supersedePlans } from "./waiting-plans.ts";

/** A run that is requested. */
interface NewServerRun {
  readonly reference: RunReference;
  /** Name of the stack. */
  readonly stackName: string;
  /** Digest of a configuration version of the stack. */
  readonly configuration: string;
  readonly mode: Run_Mode;
  /** The author of the run. */
  readonly actor: string;
  /** Why there is the run. @default `user:` and the author */
  readonly cause?: string;
  /**
   * Requested by a schedule or a trigger: the run ends no other one, and is of the configuration that was applied last when it
   * begins. @default false
   */
  readonly automatic?: boolean;
  readonly message?: string;
  /** @default what the project says when the plan is made; false without settings */
  readonly autoApply?: boolean;
  /** Its plan has at most half of the workers. @default false */
  readonly background?: boolean;
  /** The run that this one repeats. */
  readonly retryOf?: string;
  readonly targets?: readonly string[];
  readonly replace?: readonly string[];
  /** What is imported, with the mode of that name alone. @default nothing */
  readonly imports?: readonly Pick<RunImport, "address" | "id">[];
  /** Ends with its plan, whatever its mode. @default false */
  readonly planOnly?: boolean;
  /** What a run that only plans is of, such as a branch: it ends the older ones of its author that wait. @default none */
  readonly source?: string;
  /** The plan is to be applied later, unless a newer run comes first. @default false */
  readonly savedPlan?: boolean;
  /** Reads no object before it plans. @default false */
  readonly skipRefresh?: boolean;
  /** Values of root variables, encrypted. @default none */
  readonly variables?: Uint8Array | undefined;
  /** The run of a tool whose plan the engine makes, too: this run changes nothing. @default none */
  readonly shadowOf?: string;
  /** The plan set that it is of: it is approved with that. @default none */
  readonly planSet?: string;
  /** Where it belongs. @default where the request does */
  readonly traceParent?: string;
  /** Applies what can be planned, and leaves the rest to further runs. @default all is planned at once */
  readonly stage?: Partial<Pick<RunStage, "number" | "previous" | "before">>;
}

/** Runs of one stack that only plan and have not ended. */
const MAX_SPECULATIVE = 20;

/**
 * Those of a stack that have not ended. `queue_full` where they are as many as may be: only then each is read, as what ended one without its
 * queue, such as an older server, left it in the list.
 */
async function openPlans(
  tx: Transaction,
  stack: StackReference,
  listed: readonly string[],
): Promise<readonly string[]> {
  if (listed.length < MAX_SPECULATIVE) return listed;
  const open: string[] = [];
  for (const id of listed) {
    const run = await tx.find(RUN_KIND, runPlace({ stack, run: id }));
    if (run !== undefined && !isEnded(phaseOf(run.message))) open.push(id);
  }
  if (open.length < MAX_SPECULATIVE) return open;
  throw new ServerError(
    "queue_full",
    `${MAX_SPECULATIVE} runs of the stack that only plan have not ended`,
  );
}

/** Runs that may wait for their turn at one stack. */
const MAX_PENDING = 100;

/**
 * Adds a run to the queue of its stack; with a free place it becomes the current run and gets a ticket. A run that only
 * plans needs no place: it gets its ticket at once.
 *
 * `not_found` for the stack, `unprocessable` for an unknown configuration, `queue_full`, `kept_state` where a terraform or tofu command has
 * the state of the stack, `client_keys` where its project keeps keys from the server.
 */
export async function enqueueRun(parts: TransactionParts, given: NewServerRun): Promise<Run> {
  return transact(parts, async (tx) => addRun(tx, given));
}

/** The same as a part of a transaction. */
export async function addRun(tx: Transaction, given: NewServerRun): Promise<Run> {
  const { reference, configuration, mode, actor } = given;
  const { stack } = reference;
  const place = { tenancy: projectTenancy(stack), name: given.stackName };
  const named = await tx.get(STACK_KIND, place);
  if (named.message.id !== stack.stack) throw new ServerError("not_found");
  tx.guardRow(named);
  const version = await tx.find(SERVER_KINDS.configuration, memberPlace(stack, configuration));
  if (version === undefined) {
    throw new ServerError(
      "unprocessable",
      `the stack has no configuration version ${configuration}; upload it first`,
    );
  }
  tx.guardRow(version);
  const tool = given.shadowOf === undefined ? await requireRunTool(tx, stack) : undefined;
  if (given.stage !== undefined) requireStages(given, tool?.tool ?? "");
  if (mode === Run_Mode.MODE_IMPORT) requireImports(given, tool?.tool ?? "");
  const rules = await guardedProject(tx, stack);
  // What a run of the server requests has keys of the server already, or ends without.
  if (given.shadowOf === undefined && !given.stage?.previous) requireServerKeys(rules);
  const autoApply = given.autoApply ?? rules.autoApply === Project_AutoApply.AUTO_APPLY_ALWAYS;
  if (autoApply) requireAutoApply(rules, "request the run");
  const queue = await readQueue(tx, stack);
  const number = queue.message.lastNumber + 1n;
  const { automatic = false, planOnly = false, savedPlan = false, source = "" } = given;
  const speculative = isSpeculative({ mode, planOnly });
  if (!speculative && !automatic)
    await supersedeOlder(tx, queue, rules.supersede, { reference, actor });
  if (!speculative && !automatic) await supersedeSavedPlan(tx, queue, { reference, actor });
  if (speculative) await supersedePlans(tx, queue, reference, { actor, source });
  else if (source !== "")
    throw new ServerError("unprocessable", "only a run that only plans has a source");
  const starts = !speculative && queue.message.current === "";
  const { pending } = queue.message;
  if (!speculative && !starts && pending.length >= MAX_PENDING) {
    throw new ServerError("queue_full", `${MAX_PENDING} runs of the stack wait already`);
  }
  const planning = speculative ? await openPlans(tx, stack, queue.message.speculative) : undefined;
  tx.update(queue, {
    lastNumber: number,
    ...(planning !== undefined && { speculative: [...planning, reference.run] }),
    ...(starts && { current: reference.run }),
    ...(!speculative && !starts && { pending: [...pending, reference.run] }),
  });
  const now = BigInt(tx.nowMs);
  const run = Run.create({
    id: reference.run,
    stack: stack.stack,
    phase: STORED_RUN_PHASES.queued,
    cause: given.cause ?? `user:${actor}`,
    automatic,
    createdAtMs: now,
    updatedAtMs: now,
    configuration,
    mode,
    actor,
    message: given.message ?? "",
    number,
    requiredApprovals: Math.max(1, rules.requiredApprovals),
    excludeAuthor: rules.excludeAuthor,
    approvers: rules.approvers,
    autoApply,
    autoApplyRequested: given.autoApply !== undefined,
    retryOf: given.retryOf ?? "",
    targets: [...(given.targets ?? [])],
    replace: [...(given.replace ?? [])],
    imports: [...(given.imports ?? [])],
    pool: poolOf(rules, given.stackName),
    background: given.background ?? false,
    planOnly,
    savedPlan,
    skipRefresh: given.skipRefresh ?? false,
    variables: given.variables ?? new Uint8Array(),
    ...tool,
    shadowOf: given.shadowOf ?? "",
    planSet: given.planSet ?? "",
    traceParent: given.traceParent ?? tx.traceParent,
    source,
    protocol: RUN_PROTOCOL,
    ...(given.stage !== undefined && { stage: RunStage.create({ number: 1, ...given.stage }) }),
    history: [
      { from: Run_Phase.PHASE_UNSPECIFIED, to: STORED_RUN_PHASES.queued, actor, atMs: now },
    ],
  });
  tx.create(RUN_KIND, runPlace(reference), run);
  const event = { type: "phase-change", to: "queued", actor };
  await appendEvents(tx, reference, [{ at: tx.nowMs, event }]);
  if (starts || speculative) {
    const ticketClass = speculative
      ? RunTicket_Class.CLASS_SPECULATIVE
      : RunTicket_Class.CLASS_BLOCKING;
    const ticket = freeTicket(run, RunTicket_Step.STEP_PLAN, tx.nowMs, ticketClass);
    tx.create(SERVER_KINDS.ticket, ticketPlace(reference), ticket);
  }
  return run;
}

/** `unprocessable` for a run that cannot import. */
function requireImports({ imports = [] }: NewServerRun, tool: string): void {
  if (imports.length === 0) {
    throw new ServerError("unprocessable", "a run of the mode import names what it imports");
  }
  if (tool === "") return;
  throw new ServerError(
    "unprocessable",
    `${tool} plans this stack; write import blocks into its configuration instead`,
  );
}

/** `unprocessable` for a run that has no stages. */
function requireStages({ mode, planOnly }: NewServerRun, tool: string): void {
  if (mode !== Run_Mode.MODE_APPLY || planOnly === true) {
    throw new ServerError(
      "unprocessable",
      "only a run that applies its configuration has stages; request it with the mode apply, or without staged",
    );
  }
  if (tool === "") return;
  throw new ServerError(
    "unprocessable",
    `${tool} plans this stack, and it makes no stages; request the run without staged`,
  );
}
