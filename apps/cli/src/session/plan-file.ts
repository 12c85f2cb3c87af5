import { access, constants, open, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { CommandError } from "../command-error.ts";
import { printable } from "../terminal/printable.ts";

/**
 * What `plan --out` writes: the name of a stored plan. The plan itself is in the store, encrypted like the state; the
 * file contains no secrets, and has no use without the store.
 */
export interface PlanFile {
  readonly stackwright_plan: 1;
  readonly account: string;
  readonly project: string;
  readonly stack: string;
  /** SHA-256 of the stored plan: what is approved. */
  readonly digest: string;
  readonly created: string;
  /** Address of its store, without credentials. Older files have none. */
  readonly store?: string;
}

/** What `plan --out` writes where no plan could be made, so that no older plan is taken for the one that was asked for. */
interface FailedPlanFile {
  readonly stackwright_plan: 1;
  readonly failed: true;
}

export async function writePlanFile(path: string, plan: PlanFile | FailedPlanFile): Promise<void> {
  const isNew = (await stat(path).catch(() => undefined)) === undefined;
  try {
    await writeFile(path, `${JSON.stringify(plan, undefined, 2)}\n`);
  } catch (error) {
    // Half a file would be taken for a plan that was made.
    if (isNew) await rm(path, { force: true }).catch(() => undefined);
    throw notWritable(path, error);
  }
}

/** `CommandError` where a plan file cannot be written to a place: to know it before the plan is made saves the time for that. */
export async function requirePlaceOfPlan(path: string): Promise<void> {
  try {
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true) throw new Error("it is a folder");
    // What is there, such as /dev/null, is written to, whatever its folder allows.
    await access(found === undefined ? dirname(path) : path, constants.W_OK);
  } catch (error) {
    throw notWritable(path, error);
  }
}

function notWritable(path: string, cause: unknown): CommandError {
  const reason = cause instanceof Error ? printable(cause.message) : "";
  const isFull = (cause as NodeJS.ErrnoException | undefined)?.code === "ENOSPC";
  return new CommandError(`The plan cannot be written to "${printable(path)}".`, {
    cause,
    advice: isFull
      ? `No space is left on its file system. Make some, or name a file elsewhere with --out (${reason}).`
      : `Name a file in a folder that can be written to with --out (${reason}).`,
  });
}

/** A word as a shell takes it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Bytes of a plan file: one that is written here has less than a thousand. */
const MAX_BYTES = 64 * 1024;

/** Reads a plan file. `CommandError` for anything else. */
export async function readPlanFile(path: string): Promise<PlanFile> {
  let text: string;
  try {
    text = await readSmall(path);
  } catch (error) {
    throw new CommandError(`The plan file "${path}" cannot be read.`, { cause: error });
  }
  const plan = parse(text);
  if (plan === "failed") {
    const name = basename(path);
    throw new CommandError(`"${name}" holds no plan: planning failed.`, {
      advice: `Make one with: stackwright plan --out ${shellWord(name)}`,
    });
  }
  if (plan === undefined) {
    throw new CommandError(`"${path}" is not a Stackwright plan file.`, {
      advice: "Make one with: stackwright plan --out FILE",
    });
  }
  return plan;
}

/** The error that the store has no such plan, with the places to search. */
export function planNotFoundError(
  name: string,
  file: PlanFile,
  searched: string | undefined,
): CommandError {
  const { store, stack, project, created } = file;
  const made =
    store === undefined || store === searched
      ? "It has expired, or it was made with another store, by another account (STACKWRIGHT_ACCOUNT), or before the store was created again."
      : `It was made with the store ${store}: name that with --store, or go to the folder it is in.`;
  const where =
    searched === undefined ? "There is no store here" : `The store ${searched} does not have it`;
  return new CommandError(`The plan of "${name}" is not in the store.`, {
    advice: `${where} (stack "${stack}" of project "${project}", made ${created}). ${made}\nOr make a new one: stackwright plan --out ${name}`,
  });
}

/** The text of a file as far as it can be one: a device has no end. */
async function readSmall(path: string): Promise<string> {
  await using file = await open(path);
  const bytes = new Uint8Array(MAX_BYTES + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length);
    length += bytesRead;
    if (bytesRead === 0 || length === bytes.length) break;
  }
  return length > MAX_BYTES ? "" : new TextDecoder().decode(bytes.subarray(0, length));
}

/** What is in no name, and in a file that has decayed. */
const CONTROL = /\p{Cc}/u;

function parse(text: string): PlanFile | "failed" | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const plan = value as Partial<PlanFile & FailedPlanFile> | null;
  if (plan?.stackwright_plan !== 1) return undefined;
  if (plan.failed === true) return "failed";
  const { account, project, stack, digest, created, store = "" } = plan;
  const texts: readonly unknown[] = [account, project, stack, digest, created, store];
  if (!texts.every((one) => typeof one === "string" && !CONTROL.test(one))) return undefined;
  return /^[0-9a-f]{64}$/.test(String(digest)) ? (plan as PlanFile) : undefined;
}
