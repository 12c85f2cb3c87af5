import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { acquireWriterLock } from "../engine/sqlite/writer-lock.ts";
import { StorageError } from "../errors.ts";
import { makeDirectory } from "../make-directory.ts";

/**
 * A folder that gets its name when it is complete. Until then it is called `<name>.partial`, and what a
 * process that died has left under that name is removed by the next one. Disposing without `publish`
 * removes it.
 */
export class BackupFolder implements AsyncDisposable {
  /** Where the files are written. */
  readonly path: string;
  readonly #target: string;
  readonly #lock: Disposable;
  #published = false;

  constructor(target: string, path: string, lock: Disposable) {
    this.#target = target;
    this.path = path;
    this.#lock = lock;
  }

  /**
   * Rejects with `STORAGE_INVALID_ARGUMENT` where the target exists, and with `STORAGE_LOCKED` while another
   * process writes it.
   */
  static async create(directory: string): Promise<BackupFolder> {
    const target = resolve(directory);
    if ((await stat(target).catch(() => undefined)) !== undefined) throw exists(target);
    const path = `${target}.partial`;
    makeDirectory(path);
    const lock = acquireWriterLock(path);
    try {
      for (const name of await readdir(path)) {
        if (!isLockFile(name)) await rm(join(path, name), { recursive: true, force: true });
      }
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
    return new BackupFolder(target, path, lock);
  }

  /** Gives the folder its name. Everything in it has to be synced. */
  async publish(): Promise<void> {
    await syncFolder(this.path);
    try {
      await rename(this.path, this.#target);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "";
      throw ["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(code) ? exists(this.#target) : error;
    }
    this.#published = true;
    await syncFolder(dirname(this.#target));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const folder = this.#published ? this.#target : this.path;
    try {
      if (!this.#published) await rm(folder, { recursive: true, force: true });
      // Not in the backup, and harmless where a process dies before this line.
      for (const name of await readdir(folder).catch(() => [])) {
        if (isLockFile(name)) await rm(join(folder, name), { force: true });
      }
    } finally {
      this.#lock[Symbol.dispose]();
    }
  }
}

/** Makes what was created or renamed in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}

/** Whether a file in the folder belongs to its lock, not to the backup. */
function isLockFile(name: string): boolean {
  return name.startsWith("writer.");
}

function exists(target: string): StorageError {
  return new StorageError(
    "STORAGE_INVALID_ARGUMENT",
    `${target} exists; a backup makes a folder of its own`,
    { details: { field: "directory" } },
  );
}
