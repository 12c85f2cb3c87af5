import { randomBytes } from "node:crypto";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { nameExclusively } from "@stackwright/base/exclusive-file";
import { lockIdOf, lockText } from "./lock-record.ts";
import type { LockRecord } from "./state-backend.ts";

// The lock of the operating system keeps the reference command out, and not a second process of this package: it is a read
// lock. Between those the record beside the state is the lock. It appears under a name that was not used (nameExclusively); the
// reference command has the other lock while it has a record, so a record that is found here belongs to a process of this
// package, or to one that was killed.

/** IDs of the locks of this process. */
const held = new Set<string>();

/** Writes a record where no living process of this package has one; returns the text of that process's. */
export async function claimRecord(path: string, record: LockRecord): Promise<string | undefined> {
  const own: LockRecord = { ...record, Who: `${record.Who.replace(/@.*$/s, "")}@${hostname()}` };
  for (;;) {
    const fresh = `${path}.${randomBytes(6).toString("hex")}`;
    await writeFile(fresh, lockText({ ...own, Info: ownerText() }), { mode: 0o600 });
    if (await nameExclusively(fresh, path)) {
      held.add(record.ID);
      return undefined;
    }
    const found = await readIfThere(path);
    if (found !== undefined && (isAlive(found) || (await isBeingWritten(path, found))))
      return found;
    if (found !== undefined) await removeDead(path, found);
  }
}

/** Without hard links a record is empty until its content is there, which takes no longer than this. */
const WRITING_MS = 10_000;

async function isBeingWritten(path: string, text: string): Promise<boolean> {
  if (text !== "") return false;
  const stats = await stat(path).catch(() => undefined);
  return stats !== undefined && Date.now() - stats.mtimeMs < WRITING_MS;
}

export async function releaseRecord(path: string, { ID }: LockRecord): Promise<void> {
  held.delete(ID);
  const found = await readIfThere(path);
  if (found !== undefined && lockIdOf(found) === ID) await rm(path, { force: true });
}

/** Removes the record of a process that ended. One that took its place just now is put back. */
async function removeDead(path: string, found: string): Promise<void> {
  const aside = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  if ((await readIfThere(aside)) === found) await rm(aside, { force: true });
  else await nameExclusively(aside, path).catch(() => undefined);
}

function ownerText(): string {
  return `process ${process.pid}`;
}

/** Whether the process of a record runs on this machine. One on another machine is taken for alive. */
function isAlive(text: string): boolean {
  const [, pid] = /"Info":"process (\d+)"/.exec(text) ?? [];
  // Not of this package: the reference command would have the lock of the operating system.
  if (pid === undefined) return false;
  const host = /"Who":"[^"]*@([^"@]*)"/.exec(text)?.[1];
  if (host !== hostname()) return true;
  if (Number(pid) === process.pid) return held.has(lockIdOf(text));
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
