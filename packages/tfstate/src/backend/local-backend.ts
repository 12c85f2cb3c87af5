import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, mkdir, open, readdir, readFile, rename } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { nameExclusively } from "@stackwright/base/exclusive-file";
import { TfstateError } from "../errors.ts";
import type { BackendArguments } from "./backend-arguments.ts";
import { claimRecord, releaseRecord } from "./local-lock-record.ts";
import { lockedError } from "./lock-record.ts";
import { holdFileLock } from "./posix-file-lock.ts";
import {
  DEFAULT_WORKSPACE,
  type HeldLock,
  type LockRecord,
  type StateBackend,
  sortedWorkspaces,
} from "./state-backend.ts";

/** State files in a directory: `terraform.tfstate`, and one per workspace below `terraform.tfstate.d`. */
export function localBackend(configuration: BackendArguments, directory: string): StateBackend {
  const path = configuration.text("path") ?? "terraform.tfstate";
  const parent = configuration.text("workspace_dir") ?? "terraform.tfstate.d";
  const fileOf = (workspace: string): string =>
    resolve(
      directory,
      workspace === DEFAULT_WORKSPACE
        ? path
        : join(parent, folderName(workspace), "terraform.tfstate"),
    );
  const overwrite = async (file: string, bytes: Uint8Array): Promise<void> => {
    await mkdir(dirname(file), { recursive: true });
    // In place: a lock belongs to the file, not to its name. It is never empty meanwhile: the reference command takes an
    // empty file for no state, and what is half written for a damaged one.
    const handle = await open(file, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      await handle.write(bytes, 0, bytes.length, 0);
      await handle.truncate(bytes.length);
      await handle.sync();
    } finally {
      await handle.close();
    }
  };
  return {
    type: "local",
    place: (workspace) => `file ${relative(directory, fileOf(workspace))}`,
    workspaces: async () => sortedWorkspaces(await namesIn(resolve(directory, parent))),
    read: async (workspace) => readIfFound(fileOf(workspace)),
    write: async (workspace, bytes) => overwrite(fileOf(workspace), bytes),
    retire: async (workspace, suffix, marker) => {
      const file = fileOf(workspace);
      const kept = `${file}.${suffix}`;
      await keepCopy(file, kept);
      await overwrite(file, marker);
      return relative(directory, kept);
    },
    lock: async (workspace, record) => lockFile(fileOf(workspace), record, directory),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** The name of a workspace, which is the name of a folder here: one that leads to another place is refused. */
function folderName(workspace: string): string {
  if (!["", ".", ".."].includes(workspace) && !/[/\\\0]/.test(workspace)) return workspace;
  throw new TfstateError(
    "TFSTATE_BACKEND_INVALID",
    `backend "local": ${JSON.stringify(workspace)} is not the name of a workspace`,
  );
}

/** Copies a file to a new name, as a whole. A copy that an interrupted call made stays; another file there is an error. */
async function keepCopy(file: string, kept: string): Promise<void> {
  const fresh = `${kept}.${randomBytes(6).toString("hex")}`;
  await copyFile(file, fresh);
  if (await nameExclusively(fresh, kept)) return;
  const [found, own] = [await readFile(kept), await readFile(file)];
  if (found.equals(own)) return;
  if (found.length > 0) {
    throw new TfstateError(
      "TFSTATE_BACKEND_UNAVAILABLE",
      `${kept} exists and is another state: move it away`,
    );
  }
  // An interrupted call on a file system without hard links left the name without its content.
  await copyFile(file, fresh);
  await rename(fresh, kept);
}

async function lockFile(file: string, record: LockRecord, directory: string): Promise<HeldLock> {
  const info = join(dirname(file), `.${basename(file)}.lock.info`);
  const held = await holdFileLock(file);
  if (held === undefined) {
    const holder = await readIfFound(info);
    throw lockedError(`file ${relative(directory, file)}`, holder?.toString("utf8"));
  }
  try {
    const holder = await claimRecord(info, { ...record, Path: file });
    if (holder !== undefined) throw lockedError(`file ${relative(directory, file)}`, holder);
  } catch (error) {
    await held[Symbol.asyncDispose]();
    throw error;
  }
  return {
    id: record.ID,
    outlivesProcess: false,
    release: async () => {
      await releaseRecord(info, record);
      await held[Symbol.asyncDispose]();
    },
  };
}

async function namesIn(directory: string): Promise<string[]> {
  const found = await readdir(directory, { withFileTypes: true }).catch(ifMissing);
  return (found ?? []).filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function readIfFound(file: string): Promise<Buffer | undefined> {
  return readFile(file).catch(ifMissing);
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
  throw error;
}
