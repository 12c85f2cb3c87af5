import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { type Clock, sleep, systemClock } from "@stackwright/base/clock";
import { nameExclusively } from "@stackwright/base/exclusive-file";
import { CommandError } from "../command-error.ts";

/** Options of {@link withFileLock}. */
interface FileLockOptions {
  /** @default that of the process */
  readonly clock?: Clock;
  /** How long to wait for another holder, in milliseconds. @default 10_000 */
  readonly deadlineMs?: number;
}

interface Holder {
  readonly host: string;
  readonly pid: number;
  readonly token: string;
}

/** What is done under such a lock takes milliseconds: a lock of another machine that is older than this has no holder any more. */
const ABANDONED_MS = 60_000;
const POLL_MS = 20;

/**
 * Does something that only one command of a user may do at a time, such as reading and replacing a file of settings. The lock is the
 * file `PATH.lock`, which names its holder. That of a process that is gone is removed.
 *
 * @throws {CommandError} where another command has the lock until the deadline
 */
export async function withFileLock<T>(
  path: string,
  work: () => Promise<T>,
  { clock = systemClock, deadlineMs = 10_000 }: FileLockOptions = {},
): Promise<T> {
  const lock = `${path}.lock`;
  const own: Holder = { host: hostname(), pid: process.pid, token: randomUUID() };
  await mkdir(dirname(path), { recursive: true });
  const end = clock.monotonicMs() + deadlineMs;
  while (!(await create(lock, own))) {
    if (await removeAbandoned(lock, clock.wallMs())) continue;
    if (clock.monotonicMs() >= end) {
      throw new CommandError(`Another command has the lock ${lock}.`, {
        advice: "Try again. Where no command is running, remove the file.",
      });
    }
    await sleep(clock, POLL_MS);
  }
  try {
    return await work();
  } finally {
    if ((await read(lock))?.token === own.token) await rm(lock, { force: true });
  }
}

async function create(lock: string, own: Holder): Promise<boolean> {
  const fresh = `${lock}.${own.token}`;
  await writeFile(fresh, JSON.stringify(own), { mode: 0o600 });
  return nameExclusively(fresh, lock);
}

async function read(lock: string): Promise<Partial<Holder> | undefined> {
  try {
    return JSON.parse(await readFile(lock, "utf8")) as Partial<Holder>;
  } catch {
    // It is gone, or its holder had no time to write it.
    return undefined;
  }
}

/** Removes the lock of a holder that is gone. True where it is worth trying again at once. */
async function removeAbandoned(lock: string, nowMs: number): Promise<boolean> {
  const holder = await read(lock);
  const facts = await stat(lock).catch(() => undefined);
  if (facts === undefined) return true;
  const isOwnHost = holder?.host === hostname() && holder.pid !== undefined;
  const isGone = isOwnHost ? !isAlive(holder.pid ?? 0) : nowMs - facts.mtimeMs > ABANDONED_MS;
  if (!isGone) return false;
  const aside = `${lock}.${randomUUID()}`;
  try {
    await rename(lock, aside);
  } catch {
    return true;
  }
  // Another command may have removed it before, and taken the lock itself: it gets it back.
  const taken = await read(aside);
  if (taken?.token === holder?.token) await rm(aside, { force: true });
  else await nameExclusively(aside, lock);
  return true;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
