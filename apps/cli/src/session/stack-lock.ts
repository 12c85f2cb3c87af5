import { setTimeout as delay } from "node:timers/promises";
import {
  findOutsideTool,
  isStateKept,
  readFreeze,
  readHumanLock,
  StackDirectory,
  type StackLock,
  stackTenancy,
} from "@stackwright/core";
import { isStorageError, readStored } from "@stackwright/storage";
import { fenceHolderOf, fenceResourceId, heartbeatId } from "@stackwright/storage/lease";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { refuseHandedBack } from "./handed-back.ts";
import { parseDuration, type StackSession, type StoreOptions } from "./session.ts";

const POLL_MS = 500;
/** A holder without a sign of life for so long is dead or cut off, and the stack should be ours by then. */
const SILENCE_MS = 30_000;

/** What of a session is needed to take its stack. */
export type LockTarget = Pick<StackSession, "state" | "stack"> & {
  readonly store: Pick<StackSession["store"], "storage">;
};

/**
 * Takes the stack. A holder that lives is waited for as long as `--lock-timeout` says, and the refusal says who
 * it is. One that shows no life, because it was killed or its machine is gone, is waited for until the
 * stack may be taken from it, regardless of the timeout: no other process would end its run. A stack that was handed back is refused,
 * except to the command that ends an interrupted hand-back. A stack that somebody has locked at a server is refused, except to
 * commands that change none of its objects, and to what ends an interrupted run.
 */
export async function acquireStackLock(
  session: LockTarget,
  options: Pick<StoreOptions, "lockTimeout">,
  { terminal, signal }: Pick<CommandContext, "terminal" | "signal">,
  {
    endsHandBack = false,
    passesLock = false,
  }: { readonly endsHandBack?: boolean; readonly passesLock?: boolean } = {},
): Promise<StackLock> {
  if (!passesLock) await refuseLocked(session);
  const patienceMs = parseDuration(options.lockTimeout);
  const free = await session.state.tryAcquire({ signal });
  const checks = { endsHandBack, passesLock };
  if (free !== undefined) return stillOurs(free, session, checks);
  const { who } = await readLockHolder(session);
  terminal.writeError(`Waiting for the stack: ${who} works on it, or did until it ended.\n`);
  const over = new AbortController();
  const refusal = new AbortController();
  const watching = refuseInTime(session, patienceMs, AbortSignal.any([signal, over.signal])).then(
    (error) => refusal.abort(error),
    // Given up, or the stack was taken.
    () => undefined,
  );
  try {
    const hold = await session.state.acquire({ signal: AbortSignal.any([signal, refusal.signal]) });
    return await stillOurs(hold, session, checks);
  } catch (error) {
    throw refusal.signal.aborted ? refusal.signal.reason : error;
  } finally {
    over.abort();
    await watching;
  }
}

/**
 * The lock, where the name still belongs to the stack and its state was not handed back: either may have happened after the
 * session was opened, such as while a question was open.
 */
async function stillOurs(
  lock: StackLock,
  session: LockTarget,
  { endsHandBack, passesLock }: { readonly endsHandBack: boolean; readonly passesLock: boolean },
): Promise<StackLock> {
  const { store, stack } = session;
  try {
    // It may have been locked while the command waited.
    if (!passesLock) await refuseLocked(session);
    const { account, project, stack: id } = stack.reference;
    const current = await new StackDirectory(store).find({ account, project }, stack.name);
    if (!endsHandBack) refuseHandedBack(current);
    // What is written to a stack without a name is found by no command.
    if (current === undefined) {
      throw new CommandError(`The stack "${stack.name}" was deleted meanwhile.`, {
        advice: "Run the command again: it begins with a new stack then.",
      });
    }
    if (current.reference.stack !== id) {
      throw new CommandError(`The stack "${stack.name}" has adopted a state meanwhile.`, {
        advice: "Run the command again: it works on the adopted state then.",
      });
    }
    return lock;
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Refuses a stack that somebody has locked at a server, that is frozen, or whose state another tool or command has, with the reason. */
export async function refuseLocked({
  store: { storage },
  stack: { name, reference },
}: Pick<LockTarget, "store" | "stack">): Promise<void> {
  const place = `${reference.project}/${name}`;
  const lock = await unlessHidden(readHumanLock(storage, reference, Date.now()));
  if (lock !== undefined) {
    throw new CommandError(
      `The stack "${name}" is locked by ${lock.actor}${untilText(lock)}: ${lock.reason}`,
      {
        advice: `Ask who locked it, or unlock it: stackwright runs unlock --stack ${place} (--force for the lock of another credential).`,
      },
    );
  }
  if ((await unlessHidden(isStateKept(storage, reference))) === true) {
    throw new CommandError(
      `Terraform or tofu commands keep the state of the stack "${name}" on the server.`,
      {
        advice:
          "Take its objects over first, with: stackwright adopt. Or use another stack with --stack NAME.",
      },
    );
  }
  const tool = await unlessHidden(findOutsideTool(storage, reference));
  if (tool !== undefined) {
    throw new CommandError(
      `The stack "${name}" is planned and applied by ${tool} on the server, which has its state.`,
      {
        advice: `Request its runs there: stackwright runs start --stack ${place}. Or let the engine take it over: stackwright stacks adopt --stack ${place}.`,
      },
    );
  }
  const found = await unlessHidden(readFreeze(storage, reference, Date.now()));
  if (found === undefined) return;
  const what = found.of === "project" ? `project "${reference.project}"` : `stack "${name}"`;
  const whole = found.of === "project" ? " --whole-project" : "";
  throw new CommandError(
    `The ${what} is frozen by ${found.actor}${untilText(found)}: ${found.reason}`,
    {
      advice: `Plans are made meanwhile. An administrator ends it: stackwright runs unfreeze --stack ${place}${whole}.`,
    },
  );
}

/** Undefined where the server shows it to no command, or not to this one: older releases, tokens for single stacks. */
async function unlessHidden<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: unknown) => {
    if (isStorageError(error, "STORAGE_PERMISSION_DENIED")) return undefined;
    throw error;
  });
}

function untilText({ untilMs }: { readonly untilMs: number | undefined }): string {
  return untilMs === undefined ? "" : ` until ${new Date(untilMs).toISOString()}`;
}

/**
 * Takes the stack and lets it go where a run has begun that did not end: the next plan then finds nobody in
 * the way of finding out what became of it.
 */
export async function releaseInterruptedLock(
  session: LockTarget,
  options: Pick<StoreOptions, "lockTimeout">,
  context: Pick<CommandContext, "terminal" | "signal">,
): Promise<void> {
  if ((await session.state.head()).run === "") return;
  const hold = await acquireStackLock(session, options, context, { passesLock: true });
  await hold.release();
}

/** The refusal after the timeout, where the holder has a heartbeat or its heartbeat is unknown. */
async function refuseInTime(
  session: LockTarget,
  patienceMs: number,
  signal: AbortSignal,
): Promise<CommandError> {
  const start = performance.now();
  let first: string | undefined;
  for (;;) {
    // A store that does not answer is no sign of life.
    const seen = await readLockHolder(session).catch(() => undefined);
    first ??= seen?.sign;
    const lives = seen !== undefined && seen.sign !== first;
    const waited = performance.now() - start;
    if (waited >= patienceMs && (lives || waited >= SILENCE_MS)) {
      const who = seen?.who ?? "another run";
      return new CommandError(`The stack "${session.stack.name}" is in use by ${who}.`, {
        advice: "Wait until that run has ended, or let this command wait with --lock-timeout 5m.",
      });
    }
    await delay(POLL_MS, undefined, { signal });
  }
}

/** Who has the stack, as it named itself, and what changes whenever it shows that it lives. */
async function readLockHolder({
  store: { storage },
  state,
}: LockTarget): Promise<{ readonly who: string; readonly sign: string }> {
  const name = { tenancy: stackTenancy(state.reference), name: state.reference.stack };
  const fence = await readStored(storage, "strong", fenceResourceId(name));
  const heartbeat = await readStored(storage, "strong", heartbeatId(name));
  const { owner } = fenceHolderOf(fence);
  return {
    who: owner === "" ? "another run" : owner,
    sign: `${fence?.version} ${heartbeat?.version}`,
  };
}
