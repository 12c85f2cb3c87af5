import type { StackReference } from "@stackwright/core";
import {
  type ProviderNotice,
  ProviderReaction,
  ProviderReaction_Kind,
  Run_Mode,
} from "@stackwright/proto/stackwright";
import { derivedRunId } from "../domain/derived-run-id.ts";
import {
  MAX_NOTICES,
  PROVIDER_ACTOR,
  PROVIDER_CAUSE,
  providerReactionOf,
} from "../domain/provider-reaction.ts";
import {
  memberPlace,
  projectTenancy,
  RUN_KIND,
  STACK_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { isServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { DueProviderChange } from "../live/due-provider-changes.ts";
import { guardedProject } from "../queue/auto-apply-rule.ts";
import { addRun } from "../queue/enqueue.ts";
import { noteEvent } from "../queue/note-event.ts";
import { phaseOf } from "../queue/run-row.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";

// Invariants:
// - What is noted of a change, its event and its run are written in one step, which fails if another server did it first: so any number of
//   servers make one run for each stack, cause and version.
// - A stack has one run for providers that waits: what changes meanwhile is covered by it.

/** A version that comes and goes, such as in and out of quarantine, is noted again after this time alone. */
const DAMPED_MS = 10 * 60_000;

/** Takes note of a change for a stack, as its reaction says. */
export async function noteProviderChange(
  parts: TransactionParts,
  due: DueProviderChange,
): Promise<void> {
  await transact(parts, async (tx) => noteIn(tx, due));
}

async function noteIn(tx: Transaction, due: DueProviderChange): Promise<void> {
  const { account, project, id } = due.stack;
  const stack: StackReference = { account, project, stack: id };
  const stored = await tx.find(SERVER_KINDS.providerReaction, stackPlace(stack));
  const inherits = stored?.message.inherits ?? true;
  const rules = inherits ? await guardedProject(tx, stack) : undefined;
  const { kind } = providerReactionOf(stored?.message, rules);
  if (kind === ProviderReaction_Kind.KIND_UNSPECIFIED) return;
  const stackName = stored?.message.stackName ?? due.stack.name;
  const found = await tx.find(STACK_KIND, { tenancy: projectTenancy(stack), name: stackName });
  if (found?.message.id !== id) {
    if (stored !== undefined) tx.remove(stored);
    return;
  }
  tx.guardRow(found);
  const row =
    stored ??
    (await tx.findOrNew(SERVER_KINDS.providerReaction, stackPlace(stack), () =>
      ProviderReaction.create({ stackName, inherits: true, actor: PROVIDER_ACTOR }),
    ));
  const { notices } = row.message;
  const { source: provider, change: happened } = due;
  const { version, change, mark } = happened;
  const former = notices.find(
    (one) => one.provider === provider && one.version === version && one.change === change,
  );
  if (former?.mark === mark) return;
  const others = withRoom(
    notices.filter((one) => one !== former),
    due,
  );
  if (former !== undefined && tx.nowMs - Number(former.atMs) < DAMPED_MS) {
    tx.update(row, { notices: [...others, { ...former, mark }] });
    return;
  }
  if (others.length >= MAX_NOTICES) {
    const lastProblem = `${MAX_NOTICES} changes are taken note of, and no further ones`;
    if (row.message.lastProblem !== lastProblem) tx.update(row, { lastProblem });
    return;
  }
  const { run, problem } =
    kind === ProviderReaction_Kind.KIND_PLAN
      ? await planIn(
          tx,
          stack,
          { ...row.message, actor: inherits ? PROVIDER_ACTOR : row.message.actor },
          due,
        )
      : { run: "", problem: "" };
  const notice = { provider, version, change, mark, atMs: BigInt(tx.nowMs), run };
  tx.update(row, { notices: [...others, notice], lastProblem: problem });
  await noteEvent(tx, {
    event: "provider.changed",
    stack,
    provider,
    providerVersion: version,
    providerChange: change,
  });
}

/** Without those of versions that the stack uses no longer, where there is no room for another one. */
function withRoom(
  notices: readonly ProviderNotice[],
  { source, used }: DueProviderChange,
): ProviderNotice[] {
  if (notices.length < MAX_NOTICES) return [...notices];
  return notices.filter(({ provider, version }) => provider !== source || used.includes(version));
}

/** Requests the run of a change, unless one waits. */
async function planIn(
  tx: Transaction,
  stack: StackReference,
  { stackName, notices, actor }: ProviderReaction,
  { source, change: { version, change, mark } }: DueProviderChange,
): Promise<{ readonly run: string; readonly problem: string }> {
  const last = notices.findLast(({ run }) => run !== "")?.run;
  const waiting =
    last === undefined ? undefined : await tx.find(RUN_KIND, memberPlace(stack, last));
  if (last !== undefined && waiting !== undefined && phaseOf(waiting.message) === "queued") {
    tx.guardRow(waiting);
    return { run: last, problem: "" };
  }
  const { configuration } = (await readQueue(tx, stack)).message;
  if (configuration === "") {
    return { run: "", problem: "nothing was applied to the stack by this server yet" };
  }
  const identity = [PROVIDER_CAUSE, stack.stack, source, version, change, mark];
  try {
    const made = await addRun(tx, {
      reference: { stack, run: derivedRunId(tx.nowMs, identity) },
      stackName,
      configuration,
      mode: Run_Mode.MODE_PLAN_ONLY,
      actor,
      automatic: true,
      background: true,
      cause: `${PROVIDER_CAUSE}${change}:${source}@${version}`,
      message: `${source} ${version} was ${change}`,
      autoApply: false,
    });
    return { run: made.id, problem: "" };
  } catch (error) {
    // It refuses before it writes: the change is noted in any case.
    if (!isServerError(error)) throw error;
    return { run: "", problem: error.message.slice(0, 1_024) };
  }
}
