import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { nameExclusively } from "@stackwright/base/exclusive-file";
import { FgBridgeError } from "../errors.ts";
import {
  type AttemptAdmission,
  type AttemptRecord,
  checkDelivery,
  type OperationJournal,
  type OperationKey,
  type OperationState,
  openState,
  type RequestDelivery,
} from "./operation-journal.ts";

export interface DirectoryJournalOptions {
  /** On storage that all instances of the function share, and that has atomic renames and exclusive creation. */
  readonly directory: string;
  /** Operations that were not touched for longer are removed when a journal is opened. @default 7 days */
  readonly keepMs?: number;
  /** Milliseconds since the Unix epoch. */
  readonly now?: () => number;
}

/** Attempts of one operation that a journal distinguishes. */
const MAX_ATTEMPTS = 64;
const DAY_MS = 86_400_000;

/**
 * A journal in a directory.
 *
 * Each operation has a folder, named by a hash of its key, and in it one file per attempt, created exclusively: the
 * process that creates the file of an attempt decides what it is, a run or a fence. `<n>.done` next to it is the
 * result, which appears by rename, whole or not at all. An attempt makes the missing files of those before it as
 * fences, and asking for an outcome those up to the attempt in question; a delivery that comes later finds its own
 * taken. So no lock is needed, between processes or machines.
 *
 * Results hold states of objects, with their secrets: files are for their owner alone.
 */
export async function openDirectoryJournal(
  options: DirectoryJournalOptions,
): Promise<OperationJournal> {
  const { directory, keepMs = 7 * DAY_MS, now = Date.now } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await sweep(directory, now() - keepMs);
  return new DirectoryJournal(directory, now);
}

async function sweep(directory: string, olderThanMs: number): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!/^[0-9a-f]{64}$/.test(name)) continue;
    const folder = join(directory, name);
    const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs < olderThanMs) await rm(folder, { recursive: true, force: true });
  }
}

type AttemptFile = { readonly fence: true } | ({ readonly fence: false } & AttemptRecord);

class DirectoryJournal implements OperationJournal {
  readonly durable = true;
  readonly #directory: string;
  readonly #now: () => number;

  constructor(directory: string, now: () => number) {
    this.#directory = directory;
    this.#now = now;
  }

  async begin(key: OperationKey, delivery: RequestDelivery): Promise<AttemptAdmission> {
    if (delivery.attempt >= MAX_ATTEMPTS) return { kind: "refused", reason: "conflict" };
    const folder = await this.#folder(key);
    const { requestHash, epoch, untilMs } = delivery;
    const record = { fence: false, requestHash, epoch: epoch.toString(), untilMs } as const;
    // Earlier attempts have begun or never will; then the exclusive file of this one decides.
    await this.#fence(folder, delivery.attempt);
    const earlier = await this.#begun(folder);
    if (earlier === undefined) {
      if (await create(join(folder, String(delivery.attempt)), record)) return { kind: "run" };
    }
    const begun = earlier ?? (await this.#begun(folder));
    if (begun === undefined) return { kind: "refused", reason: "given-up" };
    return checkDelivery(begun.record, delivery) ?? begun.state;
  }

  async finish(
    key: OperationKey,
    attempt: number,
    { responseData, error }: { readonly responseData: Uint8Array; readonly error: string },
  ): Promise<void> {
    const folder = await this.#folder(key);
    const text = JSON.stringify({ error, data: Buffer.from(responseData).toString("base64") });
    const path = join(folder, `${attempt}.done`);
    await write(`${path}.part`, text, "w");
    await rename(`${path}.part`, path);
    await sync(folder);
  }

  async giveUp(key: OperationKey, attempt: number): Promise<void> {
    const folder = await this.#folder(key);
    const path = join(folder, String(attempt));
    await write(`${path}.part`, JSON.stringify({ fence: true }), "w");
    await rename(`${path}.part`, path);
    await sync(folder);
  }

  async outcome(
    key: OperationKey,
    attempt: number,
  ): Promise<OperationState | { readonly kind: "not-applied" }> {
    const folder = await this.#folder(key);
    await this.#fence(folder, Math.min(attempt + 1, MAX_ATTEMPTS));
    return (await this.#begun(folder))?.state ?? { kind: "not-applied" };
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #folder({ caller, sessionId, callId }: OperationKey): Promise<string> {
    const name = createHash("sha256").update(JSON.stringify([caller, sessionId, callId]));
    const folder = join(this.#directory, name.digest("hex"));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  /** Takes the files of all attempts before this one that have not begun. */
  async #fence(folder: string, before: number): Promise<void> {
    for (let n = 0; n < before; n++) await create(join(folder, String(n)), { fence: true });
  }

  /** The attempt that was begun, if one was. */
  async #begun(
    folder: string,
  ): Promise<{ readonly record: AttemptRecord; readonly state: OperationState } | undefined> {
    for (const name of (await readdir(folder)).filter((name) => /^\d+$/.test(name))) {
      const file = (await readJson(join(folder, name))) as AttemptFile | undefined;
      if (file === undefined || file.fence) continue;
      const done = (await readJson(join(folder, `${name}.done`))) as
        | { readonly error: string; readonly data: string }
        | undefined;
      if (done === undefined) return { record: file, state: openState(file, this.#now()) };
      const result = { error: done.error, responseData: Buffer.from(done.data, "base64") };
      return { record: file, state: { kind: "done", result } };
    }
    return undefined;
  }
}

async function readJson(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new FgBridgeError("FG_OPERATION_UNRESOLVED", "a record of the journal is damaged", {
      cause,
    });
  }
}

/** Makes the file whole and exclusively; false when there is one. */
async function create(path: string, content: AttemptFile): Promise<boolean> {
  const part = `${path}.${randomUUID()}.part`;
  await write(part, JSON.stringify(content), "wx");
  if (!(await nameExclusively(part, path))) return false;
  await sync(dirname(path));
  return true;
}

async function write(path: string, text: string, flags: "w" | "wx"): Promise<void> {
  await using file = await open(path, flags, 0o600);
  await file.writeFile(text);
  await file.sync();
}

async function sync(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}
