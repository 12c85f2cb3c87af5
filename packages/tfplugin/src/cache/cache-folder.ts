import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** How much a folder may hold, and what a file in it may be. */
interface CacheFolderLimits {
  /** Most files; those that were used least recently make way. */
  readonly maxFiles: number;
  /** Largest file that is read or written, in bytes. */
  readonly maxFileBytes: number;
}

/** Files on their way that a process left behind are removed after this time, in milliseconds. */
const ABANDONED_MS = 3_600_000;
/** How exactly it is known when a file was used last, in milliseconds: each use need not write. */
const USE_GRAIN_MS = 3_600_000;
const INCOMING = ".incoming-";

/** Names of files: digests. */
const NAME = /^[0-9a-f]{64}$/;

/*
 * Small files by name that several processes of one user read and write at the same time, without locks: a file appears whole, by one
 * rename. It is a cache: whatever fails is as if the file were not there. Files that others than the user may have written are
 * not read. The user may name a folder that holds other files as well: these stay.
 */
export class CacheFolder {
  readonly #path: string;
  readonly #limits: CacheFolderLimits;

  constructor(path: string, limits: CacheFolderLimits) {
    this.#path = path;
    this.#limits = limits;
  }

  async read(name: string): Promise<Buffer | undefined> {
    const path = join(this.#path, name);
    try {
      await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
      const facts = await file.stat();
      if (!facts.isFile() || facts.size > this.#limits.maxFileBytes || !isOwn(facts)) {
        return undefined;
      }
      const bytes = await file.readFile();
      const now = new Date();
      if (now.getTime() - facts.mtimeMs > USE_GRAIN_MS) await utimes(path, now, now);
      return bytes;
    } catch {
      return undefined;
    }
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    if (bytes.length > this.#limits.maxFileBytes) return;
    const fresh = join(this.#path, `${INCOMING}${randomBytes(8).toString("hex")}`);
    try {
      await mkdir(this.#path, { recursive: true, mode: 0o700 });
      await writeFile(fresh, bytes, { mode: 0o600, flag: "wx" });
      await rename(fresh, join(this.#path, name));
      await this.#sweep();
    } catch {
      await rm(fresh, { force: true }).catch(() => undefined);
    }
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#path, name), { force: true }).catch(() => undefined);
  }

  /** Removes what is too much, and what was abandoned. */
  async #sweep(): Promise<void> {
    const kept: { readonly path: string; readonly usedAtMs: number }[] = [];
    for (const name of await readdir(this.#path)) {
      const path = join(this.#path, name);
      const facts = await stat(path).catch(() => undefined);
      if (facts?.isFile() !== true) continue;
      if (NAME.test(name)) kept.push({ path, usedAtMs: facts.mtimeMs });
      else if (name.startsWith(INCOMING) && Date.now() - facts.mtimeMs > ABANDONED_MS) {
        await rm(path, { force: true });
      }
    }
    kept.sort((a, b) => b.usedAtMs - a.usedAtMs);
    for (const { path } of kept.slice(this.#limits.maxFiles)) await rm(path, { force: true });
  }
}

/** Whether only the user of this process and administrators of the machine can have written a file. */
export function isOwn({ uid, mode }: Pick<Stats, "uid" | "mode">): boolean {
  const own = process.getuid?.();
  return own === undefined || ((uid === own || uid === 0) && (mode & 0o022) === 0);
}
