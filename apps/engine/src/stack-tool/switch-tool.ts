import { createHash } from "node:crypto";
import {
  createStackStates,
  exportLine,
  exportState,
  formatStateFile,
  importState,
  isEnded,
  type NamedStack,
  NO_MIRROR,
  readStateFile,
  StackDirectory,
  type StackOrigin,
  type StackState,
  stateSteps,
} from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import type { KeptState, StackTool } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { memberPlace, RUN_KIND, STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { phaseOf } from "../queue/run-row.ts";
import { readQueue } from "../queue/stack-queue.ts";
import {
  COMMANDS_TOOL,
  ENGINE_TOOL,
  findStackTool,
  isOutside,
  readStackTool,
} from "../queue/stack-tool.ts";
import {
  idOf,
  type Row,
  type Transaction,
  type TransactionParts,
  transact,
} from "../queue/transaction.ts";
import {
  readStateContent,
  type StateContent,
  type StateContentParts,
  storeStateContent,
} from "../terraform-state/state-content.ts";
import { requireLock } from "../terraform-state/state-lock.ts";
import {
  appendVersion,
  currentVersionOf,
  findCurrentVersion,
  readKeptState,
} from "../terraform-state/state-versions.ts";

interface SwitchParts extends TransactionParts, StateContentParts {}

/** What is to be set; what is absent stays. */
interface ToolChange {
  readonly tool?: string | undefined;
  readonly version?: string | undefined;
  readonly shadow?: boolean | undefined;
  readonly adoptAfter?: number | undefined;
}

interface Switch extends ToolChange {
  readonly stack: NamedStack;
  readonly actor: string;
  readonly signal: AbortSignal;
}

/**
 * Sets which tool plans and applies a stack. Between the engine and another tool the state is handed over with its lineage and a serial
 * that does not fall: what takes the stack over plans no change of it. Which of both has the state is decided by one write.
 *
 * `conflict` while a run of the stack is in progress, where one was interrupted, and for a stack that was handed back; `stack_locked`; `changed` where another caller was
 * faster; `key_unavailable`.
 */
export async function switchTool(parts: SwitchParts, given: Switch): Promise<StackTool> {
  const { storage } = parts;
  const { stack } = given;
  const { reference } = stack;
  const present = await findStackTool(storage, reference);
  const { tool = present.tool } = given;
  if (given.tool === ENGINE_TOOL && !isOutside(present) && (await isKept(parts, stack))) {
    // What commands keep from the first on is theirs for all that look at it, until the engine has all of it.
    requireNotHandedBack(stack);
    await switchTool(parts, {
      stack,
      actor: given.actor,
      signal: given.signal,
      tool: COMMANDS_TOOL,
    });
    return switchTool(parts, given);
  }
  if (isOutside(present) === isOutside({ tool })) {
    return transact(parts, async (tx) => {
      const row = await readStackTool(tx, reference);
      const { message } = row;
      const { version = tool === message.tool ? message.version : "" } = given;
      const isOther = tool !== message.tool || version !== message.version;
      if (isOther && isOutside({ tool })) await requireIdle(tx, stack);
      return write(tx, row, given);
    });
  }
  if (tool === COMMANDS_TOOL && (await isKept(parts, stack))) {
    // The state is where it has to be.
    return transact(parts, async (tx) => {
      await requireIdle(tx, stack);
      return write(tx, await readStackTool(tx, reference), given);
    });
  }
  await transact(parts, async (tx) => requireIdle(tx, stack));
  const states = createStackStates({
    storage,
    blobs: parts.blobs,
    ciphers: parts.keys,
    owner: `tool ${given.actor}`,
    scheduler: parts.clock,
  });
  const state = states.stack(reference);
  await using hold = await state.tryAcquire({ signal: given.signal });
  if (hold === undefined) throw busy("a command writes the state of the stack");
  return isOutside({ tool })
    ? await handOver(parts, given, state)
    : await takeOver(parts, given, state, hold);
}

/** From the engine: its state becomes a version of a kept one. */
async function handOver(parts: SwitchParts, given: Switch, state: StackState): Promise<StackTool> {
  const { stack, signal, actor } = given;
  const { reference } = stack;
  requireNotHandedBack(stack);
  const snapshot = await state.read({ signal });
  if (snapshot.head.run !== "") throw busy(`the run ${snapshot.head.run} was interrupted`);
  const isEmpty = snapshot.objects.size === 0 && snapshot.outputs.size === 0;
  const newest = await newestVersion(parts, stack);
  const store = async (): Promise<StateContent> => {
    const line = exportLine(stack, snapshot);
    const least = newest === undefined ? 1n : newest.serial + 1n;
    const serial = line.serial ?? snapshot.head.revision;
    const lineage = line.lineage ?? newest?.lineage;
    try {
      const file = exportState(reference, snapshot, {
        ...line,
        ...(lineage !== undefined && { lineage }),
        serial: serial > least ? serial : least,
      });
      const bytes = Buffer.from(formatStateFile(file));
      return await storeStateContent(parts, { stack: reference, content: once(bytes), signal });
    } catch (error) {
      if (!isEngineError(error, "ENGINE_SURGERY_INVALID")) throw error;
      throw busy(`operations of the stack are open (${error.message})`, error);
    }
  };
  // A stack that never had an object begins without a state.
  const content = isEmpty && snapshot.head.revision === 0n ? undefined : await store();
  return transact(parts, async (tx) => {
    await requireIdle(tx, stack);
    const place = stackPlace(reference);
    const head = await tx.find(STACK_HEAD_KIND, place);
    if (head === undefined) tx.guardAbsent(STACK_HEAD_KIND, place);
    else if (head.message.revision === snapshot.head.revision) tx.guardRow(head);
    else throw new ServerError("changed", "the state of the stack was written meanwhile");
    const row = await readStackTool(tx, reference);
    if (isOutside(row.message)) throw changed();
    const kept = await readKeptState(tx, reference);
    if (content !== undefined) {
      const current = (await currentVersionOf(tx, reference, kept.message))?.message;
      await appendVersion(tx, reference, kept, {
        ...content,
        actor,
        operation: "stackwright tool",
        who: "",
        restoredFrom: 0n,
        replaced: current?.number ?? 0n,
        lineageChanged: current !== undefined && current.lineage !== content.lineage,
      });
    }
    return write(tx, row, given);
  });
}

/** To the engine: the kept state becomes its own, under the fence of the stack. */
async function takeOver(
  parts: SwitchParts,
  given: Switch,
  state: StackState,
  hold: NonNullable<Awaited<ReturnType<StackState["tryAcquire"]>>>,
): Promise<StackTool> {
  const { stack, signal, actor } = given;
  const { reference } = stack;
  const version = await findCurrentVersion(parts.storage, reference);
  if (version !== undefined) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of readStateContent(parts, reference, version)) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const file = readStateFile(bytes.toString("utf8"));
    const snapshot = await state.read({ signal });
    const steps = stateSteps(exportState(reference, snapshot), file);
    const { outputs } = importState(file);
    // One that was interrupted goes on: until the end nothing counts what it wrote.
    const run = snapshot.head.run === "" ? parts.token() : snapshot.head.run;
    const writer = await hold.begin({ run }, { signal });
    for (const step of steps) await writer.write(step, { signal });
    const { revision } = await writer.finish({ outputs });
    const origin: StackOrigin = {
      kind: "state",
      timeMs: parts.clock.wallMs(),
      actor,
      backend: "",
      place: `state version ${version.number} of this server`,
      placeDigest: "",
      workspace: stack.name,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      acceptedChanges: 0,
      lockId: "",
      renamedTo: "",
      mirror: NO_MIRROR,
      ...(stack.adoption?.kind === "state" && stack.adoption),
      lineage: file.lineage,
      terraformVersion: file.terraformVersion,
      serial: file.serial > revision ? file.serial - revision : 0n,
      handedBack: false,
    };
    const directory = new StackDirectory({
      storage: parts.storage,
      nextId: parts.token,
      wallMs: () => parts.clock.wallMs(),
    });
    await directory.recordOrigin(reference, stack.name, origin, { signal });
  }
  return transact(parts, async (tx) => {
    await requireIdle(tx, stack);
    const row = await readStackTool(tx, reference);
    if (!isOutside(row.message)) throw changed();
    const kept = await readKeptState(tx, reference);
    if (kept.message.current !== (version?.number ?? 0n)) throw changed();
    if (version !== undefined) tx.update(kept, { current: 0n });
    return write(tx, row, given);
  });
}

/** Whether the present state is a version that a command stored, and nothing of it is in the engine. */
async function isKept({ storage }: SwitchParts, { reference }: NamedStack): Promise<boolean> {
  const head = await readStored(storage, "strong", idOf(STACK_HEAD_KIND, stackPlace(reference)));
  return head === undefined && (await findCurrentVersion(storage, reference)) !== undefined;
}

/** The version with the highest serial, also where none is the present one. */
async function newestVersion(parts: SwitchParts, stack: NamedStack) {
  return transact(parts, async (tx) => {
    const { message } = await readKeptState(tx, stack.reference);
    const last: KeptState = { ...message, current: message.last };
    return (await currentVersionOf(tx, stack.reference, last))?.message;
  });
}

/** What the engine has of a stack that was handed back is from before: the state is where it was handed to. */
function requireNotHandedBack({ adoption }: NamedStack): void {
  if (adoption?.kind !== "state" || !adoption.handedBack) return;
  throw busy(
    `its state was handed back to ${adoption.place}; take it over first, with: stackwright adopt`,
  );
}

/** No run is under way, no command has the lock, and the name is still that of the stack. */
export async function requireIdle(tx: Transaction, { reference }: NamedStack): Promise<void> {
  await requireLock(tx, reference, undefined);
  const queue = await readQueue(tx, reference);
  tx.guard({ id: queue.id, version: queue.resource?.version ?? "" });
  const { current, pending, speculative } = queue.message;
  const [run] = [current, ...pending].filter((id) => id !== "");
  if (run !== undefined) throw busy(`the run ${run} of the stack is in progress`);
  for (const id of speculative) {
    // A server of an older release leaves plans in the list that have ended.
    const found = await tx.find(RUN_KIND, memberPlace(reference, id));
    if (found === undefined || isEnded(phaseOf(found.message))) continue;
    throw busy(`the run ${id} of the stack is in progress`);
  }
}

function write(tx: Transaction, row: Row<StackTool>, given: Switch): StackTool {
  const { tool = row.message.tool, shadow, adoptAfter, actor } = given;
  const isRun = tool !== ENGINE_TOOL && tool !== COMMANDS_TOOL;
  const isOther = tool !== row.message.tool;
  const version = given.version ?? (isOther ? "" : row.message.version);
  const counts = { equal: 0, comparedNumber: row.message.comparedNumber };
  tx.update(row, {
    tool,
    version: isRun ? version : "",
    shadow: isRun && (shadow ?? row.message.shadow),
    adoptAfter: adoptAfter ?? row.message.adoptAfter,
    ...((isOther || version !== row.message.version) && counts),
    ...(tool === ENGINE_TOOL && { attention: "" }),
    actor,
    updatedAtMs: BigInt(tx.nowMs),
  });
  return row.message;
}

function busy(why: string, cause?: unknown): ServerError {
  return new ServerError("conflict", `the tool of the stack cannot be changed now: ${why}`, {
    cause,
  });
}

function changed(): ServerError {
  return new ServerError("changed", "another caller changed the tool or the state of the stack");
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}
