import type { Logger } from "@stackwright/base/logger";
import { isEnded, type StackReference } from "@stackwright/core";
import {
  type DriftLoad,
  type DriftRequest,
  type DriftRule,
  type Run,
  Run_Mode,
  type StackDrift,
} from "@stackwright/proto/stackwright";
import { isStorageError, readStored } from "@stackwright/storage";
import { derivedRunId } from "../domain/derived-run-id.ts";
import { type ChargedCheck, DriftBudget } from "../domain/drift-budget.ts";
import {
  DRIFT_CHECK,
  DRIFT_REPORT,
  type DueCheck,
  driftRuleOf,
  dueCheck,
  isUnnoted,
  nextChecks,
} from "../domain/drift-rule.ts";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import {
  memberPlace,
  projectTenancy,
  RUN_KIND,
  STACK_HEAD_KIND,
  STACK_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { endPastIgnores } from "../queue/drift-ignores.ts";
import { DRIFT_ACTOR, readDrift } from "../queue/drift-record.ts";
import { addRun } from "../queue/enqueue.ts";
import { phaseOf } from "../queue/run-row.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { isOutside, readStackTool } from "../queue/stack-tool.ts";
import {
  idOf,
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "../queue/transaction.ts";
import type { DriftFact, DriftIndex, NamedStack } from "./drift-index.ts";
import { inTurn } from "./in-turn.ts";
import { OpenChecks } from "./open-checks.ts";
import { addressesOf, type CheckedObjects, loadsOf, objectsOf } from "./stack-objects.ts";

// Invariants:
// - The run of a check and the next time of its stack are written in one step, which fails if another server did it first; its id follows from
//   stack and time. So any number of servers make one run for each time.
// - What deliveries of hooks ask for is requested whatever the rule of the stack says, and takes its turn by time with what is due by rules: a
//   storm of deliveries keeps no stack from its check of all objects.
// - A stack has one check that has not ended. Of the checks that were requested lately, a bounded number of each account has not ended, and of
//   all, which accounts share (`open-checks.ts`). So stacks which are due together, such as after a night without a server, are checked one after
//   another, and those of any number of accounts whose pools have no workers keep no other account out. How many of one project are requested, and how many
//   objects of one provider they read, is bounded over time, too (`domain/drift-budget.ts`): what they may not do yet stays due.
// - A check only plans: it has no place in the queue of its stack, ends no other run, and has at most half of the steps of a worker.

const KIND = SERVER_KINDS.drift;

/** A check that has not ended after this time, such as one of a pool without workers, keeps no other one out. */
const OPEN_MS = 30 * 60_000;
/** A check that no worker has begun after this time shows that its account may have none: workers look for steps every few seconds. */
const IDLE_MS = 2 * 60_000;
/** Stacks whose next time is noted in one sweep. */
const MAX_NOTED = 200;
/** Objects of a check of a part; where a part has more, all objects are checked. */
const MAX_TARGETS = 500;
/** Stacks whose objects are counted in one sweep. */
const MAX_COUNTED = 20;
/** Providers whose objects are remembered for a stack. */
const MAX_LOADS = 50;

type DriftParts = TransactionParts & { readonly logger: Logger };

/**
 * Requests a check for each stack that is due, the longest due ones first. What keeps one from it stays with the stack (`lastProblem`), and
 * concerns no other. Resolves with the number of runs.
 */
export async function fireDriftChecks(parts: DriftParts, index: DriftIndex): Promise<number> {
  const { drifts, projects } = index;
  const nowMs = parts.clock.wallMs();
  const due: DueStack[] = [];
  const unnoted: NamedStack[] = [];
  const waiting: StackReference[] = [];
  const idle: StackReference[] = [];
  for (const { stack, drift } of drifts.values()) {
    if (drift === undefined) continue;
    const { check, ignoredUntilMs } = drift;
    if (ignoredUntilMs !== 0 && ignoredUntilMs <= nowMs) {
      await each(parts, stack, async () => endPastIgnores(parts, stack));
    }
    const checking =
      check === "" ? "ended" : await each(parts, stack, async () => stateOf(parts, stack, check));
    if (checking === undefined) continue;
    if (checking !== "ended") {
      const ageMs = nowMs - Number(drift.checkAtMs);
      if (ageMs < OPEN_MS) waiting.push(stack);
      if (checking === "waits" && ageMs >= IDLE_MS) idle.push(stack);
      continue;
    }
    const rule = driftRuleOf(drift, projects.get(projectKeyOf(stack)));
    const isNoted = rule !== undefined && !isUnnoted(rule, drift, nowMs);
    if (rule !== undefined && !isNoted) unnoted.push({ stack, stackName: drift.stackName });
    const byRule = isNoted ? dueCheck(rule, drift, nowMs) : undefined;
    const next = firstOf(drift.asked, byRule);
    if (next !== undefined) {
      due.push({ stack, drift, atMs: next.atMs, checked: checkedBy(next, rule) });
    }
  }
  for (const named of index.stacks) {
    const { stack } = named;
    const rule = driftRuleOf(undefined, projects.get(projectKeyOf(stack)));
    if (rule !== undefined && !drifts.has(keyOf(stack))) unnoted.push(named);
  }
  for (const one of unnoted.slice(0, MAX_NOTED)) {
    await each(parts, one.stack, async () => note(parts, one));
  }
  const budget = new DriftBudget(nowMs, chargedChecks(index));
  let fired = 0;
  const inOrder = due.toSorted((a, b) => a.atMs - b.atMs);
  const open = new OpenChecks({
    accounts: [...waiting, ...due.map(({ stack }) => stack)].map(({ account }) => account),
    idle: idle.map(({ account }) => account),
  });
  for (const stack of waiting) open.add(stack);
  const unknown = inOrder.filter(
    (one) => !hasKnownLoads(one) && open.hasRoomFor(one.stack) && budget.hasCheckFor(one.stack),
  );
  const counted = inTurn(unknown, MAX_COUNTED);
  for (const one of inOrder) {
    const { stack, drift, checked } = one;
    if (!open.hasRoomFor(stack) || !budget.hasCheckFor(stack)) continue;
    const isKnown = hasKnownLoads(one);
    if (!isKnown && !counted.has(one)) continue;
    const loads = isKnown
      ? drift.loads
      : await each(parts, stack, async () => presentLoads(parts, stack, checked));
    if (loads === undefined) continue;
    if (!budget.take({ stack, loads })) {
      // So they are not counted in each sweep until its turn.
      const isNew = !isKnown && checked === "all" && loads.length > 0;
      if (isNew) await each(parts, stack, async () => noteLoads(parts, stack, loads));
      continue;
    }
    const answer = await each(parts, stack, async () => {
      // What is known is of the last check: the next one is to know what this one reads.
      const present = isKnown ? await presentLoads(parts, stack, checked) : loads;
      return fire(parts, stack, present);
    });
    // One that is applied, or has to be recovered, stays due, and would keep all others from it. What another server requested is read.
    if (answer !== "requested" && answer !== "elsewhere") budget.giveBack({ stack, loads });
    if (answer !== "requested") continue;
    open.add(stack);
    fired += 1;
  }
  return fired;
}

/** How many objects of which providers a check reads. */
async function presentLoads(
  parts: TransactionParts,
  stack: StackReference,
  checked: CheckedObjects,
): Promise<readonly DriftLoad[]> {
  const loads = await loadsOf(parts, stack, checked);
  const total = loads.reduce((sum, { objects }) => sum + objects, 0);
  // So many are read as fast all together.
  return checked === "all" || total <= MAX_TARGETS ? loads : loadsOf(parts, stack, "all");
}

interface DueStack {
  readonly stack: StackReference;
  readonly drift: NonNullable<DriftFact["drift"]>;
  readonly atMs: number;
  readonly checked: CheckedObjects;
}

/** Whether it is known how many objects the check of a stack reads, without counting them. */
function hasKnownLoads({ drift, checked }: DueStack): boolean {
  return checked === "all" && drift.loads.length > 0 && !drift.loadsOfPart;
}

/** What is read by the check that a stack is due for. */
function checkedBy(
  due: { readonly asked: DriftRequest } | Pick<DueCheck, "part">,
  rule: DriftRule | undefined,
): CheckedObjects {
  if ("asked" in due) {
    const { resources } = due.asked;
    return resources.length === 0 ? "all" : { resources };
  }
  const part = due.part === undefined ? undefined : rule?.parts[due.part];
  return part === undefined ? "all" : { part };
}

/** The last check of each stack, with what it reads. */
function chargedChecks({ drifts }: DriftIndex): readonly ChargedCheck[] {
  return Array.from(drifts.values()).flatMap(({ stack, drift }) =>
    drift === undefined || drift.checkAtMs === 0n
      ? []
      : [{ stack, atMs: Number(drift.checkAtMs), loads: drift.loads }],
  );
}

/** What a stack is checked for first: what was asked for, or what is due by its rule. */
function firstOf<T extends { readonly atMs: number }>(
  asked: DriftRequest | undefined,
  byRule: T | undefined,
): T | { readonly asked: DriftRequest; readonly atMs: number } | undefined {
  if (asked === undefined) return byRule;
  const atMs = Number(asked.atMs);
  return byRule !== undefined && byRule.atMs < atMs ? byRule : { asked, atMs };
}

/** What is done for one stack: what fails is logged, and concerns no other, unless the store is away. */
async function each<T>(
  { logger }: DriftParts,
  stack: StackReference,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
    logger.error({ ...stack, err: error }, "a stack could not be checked for drift");
    return undefined;
  }
}

/** Notes the next time of a stack that has none, or one that a shorter rule has made pointless. */
async function note(parts: TransactionParts, { stack, stackName }: NamedStack): Promise<void> {
  await transact(parts, async (tx) => {
    const project = await tx.find(SERVER_KINDS.project, projectPlace(stack));
    const row = await readDrift(tx, stack, stackName);
    const rule = driftRuleOf(row.message, project?.message);
    if (rule === undefined || !isUnnoted(rule, row.message, tx.nowMs)) return;
    const { nextAtMs } = row.message;
    const isDue = nextAtMs !== 0n && Number(nextAtMs) <= tx.nowMs;
    tx.update(row, { ...nextChecks(rule, stack.stack, tx.nowMs), ...(isDue && { nextAtMs }) });
  });
}

/**
 * Requests a check of a stack at once, whatever its rule says; one that has not ended is taken instead. What it finds leads to the run that the
 * rule asks for only where one who asked for it may apply.
 */
export async function checkDrift(
  parts: TransactionParts,
  { mayApply, ...checked }: CheckedStack & { readonly mayApply: boolean },
): Promise<Run> {
  const { stack, stackName } = checked;
  return transact(parts, async (tx) => {
    const row = await readDrift(tx, stack, stackName);
    const { check: former } = row.message;
    const open = former === "" ? undefined : await tx.find(RUN_KIND, memberPlace(stack, former));
    if (open !== undefined && !isEnded(phaseOf(open.message))) {
      const { cause } = open.message;
      // What the check finds is reported once it has ended: until then who may apply makes it one that the rule reacts to.
      if (mayApply && cause.startsWith(DRIFT_REPORT)) {
        tx.update(open, { cause: `${DRIFT_CHECK}${cause.slice(DRIFT_REPORT.length)}` });
      }
      return open.message;
    }
    const check = { ...checkAt(stack, tx.nowMs), ...(!mayApply && { cause: DRIFT_REPORT }) };
    const run = await addCheck(tx, checked, check);
    tx.update(row, { stackName, check: run.id, checkAtMs: BigInt(tx.nowMs) });
    return run;
  });
}

interface CheckedStack extends NamedStack {
  readonly actor: string;
}

/** Objects of some types that a check is limited to. */
interface CheckedPart {
  readonly types: readonly string[];
  /** Their addresses. */
  readonly targets: readonly string[];
}

/** A check that is requested now. */
interface NewCheck {
  /** That of its run. */
  readonly id: string;
  readonly atMs: number;
  readonly message: string;
  /** What its cause begins with. @default that of a check whose result the rule reacts to */
  readonly cause?: string;
  /** Addresses of objects that it is limited to. @default none: all are read */
  readonly targets?: readonly string[] | undefined;
}

/** A check of a time, of all objects or of a part. */
function checkAt(stack: StackReference, atMs: number, part?: CheckedPart): NewCheck {
  const types = part === undefined ? [] : [...part.types].toSorted();
  return {
    id: derivedRunId(atMs, [DRIFT_CHECK, stack.stack, ...types]),
    atMs,
    message: part === undefined ? "Looks for drift" : `Looks for drift of ${types.join(", ")}`,
    targets: part?.targets,
  };
}

async function addCheck(
  tx: Transaction,
  { stack, stackName, actor }: CheckedStack,
  { id, atMs, message, targets, cause = DRIFT_CHECK }: NewCheck,
): Promise<Run> {
  const { configuration } = (await readQueue(tx, stack)).message;
  if (configuration === "") {
    throw new ServerError("unprocessable", "nothing was applied to the stack by this server yet");
  }
  const known = await tx.find(RUN_KIND, memberPlace(stack, id));
  // The record was lost and made again.
  if (known !== undefined) throw new ServerError("conflict", `the run ${id} was made already`);
  return addRun(tx, {
    reference: { stack, run: id },
    stackName,
    configuration,
    mode: Run_Mode.MODE_REFRESH_ONLY,
    planOnly: true,
    actor,
    automatic: true,
    background: true,
    cause: `${cause}${new Date(atMs).toISOString()}`,
    message,
    ...(targets !== undefined && { targets }),
    autoApply: false,
  });
}

/**
 * Requests the check of a stack that is due. `elsewhere`: it is due no longer, as another server has requested it; `none`: something keeps it
 * from a check.
 */
async function fire(
  parts: TransactionParts,
  stack: StackReference,
  loads: readonly DriftLoad[],
): Promise<"requested" | "elsewhere" | "none"> {
  try {
    return await transact(parts, async (tx) => {
      const due = await findDue(tx, stack);
      if (due === undefined) return "elsewhere";
      const { row } = due;
      // While the stack is applied, or has to be recovered, a check would only wait for that.
      const head = await tx.find(STACK_HEAD_KIND, stackPlace(stack));
      if (head !== undefined && head.message.run !== "") return "none";
      const named = { tenancy: projectTenancy(stack), name: row.message.stackName };
      const found = await tx.find(STACK_KIND, named);
      if (found?.message.id !== stack.stack) {
        tx.remove(row);
        return "none";
      }
      if ("asked" in due) {
        return (await fireAsked(tx, parts, stack, { ...due, loads })) ? "requested" : "none";
      }
      const { rule, atMs, next } = due;
      const actor = row.message.rule === undefined ? DRIFT_ACTOR : row.message.actor;
      const { stackName } = row.message;
      const part = due.part === undefined ? undefined : rule.parts[due.part];
      const targets = part && (await addressesOf(parts, stack, part));
      if (targets?.length === 0) {
        tx.update(row, next);
        return "none";
      }
      // So many are read as fast all together.
      const isWhole = part === undefined || targets === undefined || targets.length > MAX_TARGETS;
      const checked = isWhole ? undefined : { types: part.types, targets };
      const run = await addCheck(tx, { stack, stackName, actor }, checkAt(stack, atMs, checked));
      const checkAtMs = BigInt(tx.nowMs);
      tx.update(row, { check: run.id, checkAtMs, ...chargeOf(loads, part !== undefined), ...next });
      return "requested";
    });
  } catch (error) {
    if (!isServerError(error)) throw error;
    await transact(parts, async (tx) => {
      const due = await findDue(tx, stack);
      if (due === undefined) return;
      const over = "asked" in due ? { asked: undefined } : due.next;
      tx.update(due.row, { lastProblem: error.message, ...over });
    });
    return "none";
  }
}

/** Requests the check that deliveries of hooks asked for. */
async function fireAsked(
  tx: Transaction,
  parts: TransactionParts,
  stack: StackReference,
  {
    row,
    asked,
    loads,
  }: {
    readonly row: StoredRow<StackDrift>;
    readonly asked: DriftRequest;
    readonly loads: readonly DriftLoad[];
  },
): Promise<boolean> {
  const { stackName } = row.message;
  const { run: id, atMs, actor, resources } = asked;
  // What another tool has recorded, it reads as a whole.
  const isWhole = resources.length === 0 || isOutside((await readStackTool(tx, stack)).message);
  const targets = isWhole ? undefined : await objectsOf(parts, stack, resources);
  if (targets?.length === 0) {
    const lastProblem = "a hook asked for a check of resources that the stack has not";
    tx.update(row, { asked: undefined, lastProblem });
    return false;
  }
  const run = await addCheck(
    tx,
    { stack, stackName, actor },
    {
      id,
      atMs: Number(atMs),
      message: "Looks for drift, as a hook asked for it",
      // So many are read as fast all together.
      targets: targets === undefined || targets.length > MAX_TARGETS ? undefined : targets,
    },
  );
  const charge = chargeOf(loads, resources.length > 0);
  tx.update(row, { check: run.id, checkAtMs: BigInt(tx.nowMs), asked: undefined, ...charge });
  return true;
}

async function noteLoads(
  parts: TransactionParts,
  stack: StackReference,
  loads: readonly DriftLoad[],
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await tx.find(KIND, stackPlace(stack));
    if (row !== undefined) tx.update(row, chargeOf(loads, false));
  });
}

/** What the budget counts of a check. Of more providers than are kept the largest are. */
function chargeOf(
  loads: readonly DriftLoad[],
  loadsOfPart: boolean,
): Pick<StackDrift, "loads" | "loadsOfPart"> {
  const largest = loads.toSorted((a, b) => b.objects - a.objects).slice(0, MAX_LOADS);
  return { loads: largest, loadsOfPart };
}

async function findDue(tx: Transaction, stack: StackReference) {
  const row = await tx.find(KIND, stackPlace(stack));
  const project = await tx.find(SERVER_KINDS.project, projectPlace(stack));
  if (row === undefined) return undefined;
  const { check } = row.message;
  const open = check === "" ? undefined : await tx.find(RUN_KIND, memberPlace(stack, check));
  if (open !== undefined && !isEnded(phaseOf(open.message))) return undefined;
  const rule = driftRuleOf(row.message, project?.message);
  const due = firstOf(row.message.asked, rule && dueByRule(tx, stack, row.message, rule));
  return due && { row, ...due };
}

/** The check that is due by the rule of a stack, and those that come after it. */
function dueByRule(tx: Transaction, { stack }: StackReference, drift: StackDrift, rule: DriftRule) {
  const due = dueCheck(rule, drift, tx.nowMs);
  if (due === undefined) return undefined;
  const { part } = due;
  const { nextAtMs, partNextAtMs } = drift;
  const former = part === undefined ? undefined : { part, nextAtMs, partNextAtMs };
  return { rule, ...due, next: nextChecks(rule, stack, tx.nowMs, former) };
}

/** Whether the run of a check waits for a worker, has one, or has ended. */
async function stateOf(
  { storage }: Pick<TransactionParts, "storage">,
  stack: StackReference,
  run: string,
): Promise<"waits" | "begun" | "ended"> {
  const place = memberPlace(stack, run);
  const found = await readStored(storage, "strong", idOf(RUN_KIND, place));
  const phase = found && phaseOf(decodeRecord(RUN_KIND, found));
  if (phase === undefined || isEnded(phase)) return "ended";
  return phase === "queued" ? "waits" : "begun";
}

function keyOf({ account, project, stack }: StackReference): string {
  return `${account}/${project}/${stack}`;
}

function projectKeyOf({ account, project }: Pick<StackReference, "account" | "project">): string {
  return `${account}/${project}`;
}
