import { createHash, randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, renameSync } from "node:fs";
import { lstat, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { ModuleError } from "@stackwright/lang";
import { replaceFile } from "./module-manifest.ts";
import { copyModuleTree, hashModuleTree, type ModuleLimits } from "./module-tree.ts";
import { isFolder, removeFolder } from "./small-files.ts";

/** A package that is in the cache. */
export interface CachedPackage {
  /** The folder of its content. */
  readonly path: string;
  readonly hash: string;
}

interface ModuleCacheOptions {
  readonly limits?: ModuleLimits;
  readonly signal?: AbortSignal;
}

/** The folder of the cache: `STACKWRIGHT_MODULE_CACHE`, else below the cache folder of the user. */
export function moduleCacheFolder({
  STACKWRIGHT_MODULE_CACHE: named = "",
  XDG_CACHE_HOME: cache = "",
  HOME = "",
}: NodeJS.ProcessEnv): string {
  if (named !== "") return resolve(named);
  const folder = cache === "" ? join(HOME === "" ? homedir() : HOME, ".cache") : cache;
  return join(folder, "stackwright/modules");
}

/*
 * Unpacked packages by the hash of their content, shared by all configurations and processes of a user. A package appears whole,
 * by one rename, and never changes; who comes second drops the own copy. What is taken is hashed again: the copy counts.
 */
export class ModuleCache {
  readonly #root: string;
  readonly #options: ModuleCacheOptions;
  #swept: Promise<void> | undefined;
  readonly #prepared = new Map<string, Promise<void>>();

  constructor(root: string, options: ModuleCacheOptions = {}) {
    this.#root = root;
    this.#options = options;
  }

  /** The package with a hash; undefined where it is not here. */
  async find(hash: string): Promise<CachedPackage | undefined> {
    const path = this.#pathOf(hash);
    return isFolder(path) ? { path, hash } : undefined;
  }

  /** The package that was once fetched under a name that always means the same, such as a version of a registry. */
  async findNamed(name: string): Promise<(CachedPackage & { readonly inner: string }) | undefined> {
    const text = await readFile(this.#nameFile(name), "utf8").catch(() => "");
    const [hash = "", inner = ""] = text.split("\n");
    const found = hash === "" ? undefined : await this.find(hash);
    return found && { ...found, inner };
  }

  /** Fetches a package into the cache. `fetch` fills an empty folder and returns the one in it that counts. */
  async add(
    fetch: (folder: string) => Promise<string>,
    named?: { readonly name: string; readonly inner: string },
  ): Promise<CachedPackage> {
    const incoming = join(this.#root, INCOMING);
    this.#swept ??= prepareIncoming(this.#root, incoming);
    await this.#swept;
    const fresh = join(incoming, randomBytes(6).toString("hex"));
    mkdirSync(fresh);
    try {
      const counts = await fetch(fresh);
      const hash = await hashModuleTree(counts, this.#options);
      const path = this.#pathOf(hash);
      renameNew(counts, path);
      if (named !== undefined) {
        await replaceFile(this.#nameFile(named.name), `${hash}\n${named.inner}`);
      }
      return { path, hash };
    } finally {
      await removeFolder(fresh);
    }
  }

  /**
   * Copies a package to a place, which then has it whole. Another one that is there makes way. False where the package in the
   * cache is not what its hash says: it is removed, and has to be fetched again.
   */
  async copy({ path, hash }: CachedPackage, place: string): Promise<boolean> {
    if (await this.#isThere(place, hash)) return true;
    await this.#prepare(dirname(place));
    const fresh = `${place}.${randomBytes(6).toString("hex")}.partial`;
    try {
      if (!(await this.#copied(path, fresh, hash))) {
        await rm(path, { recursive: true, force: true });
        return false;
      }
      // What another process has just put there stays: it may be in use.
      await replaceFolder(fresh, place, async () => this.#isThere(place, hash));
      return true;
    } finally {
      await removeFolder(fresh);
    }
  }

  /** The hash is that of the copy. A package that is damaged may be refused as well. */
  async #copied(path: string, fresh: string, hash: string): Promise<boolean> {
    try {
      return (await copyModuleTree(path, fresh, this.#options)) === hash;
    } catch (error) {
      if (error instanceof ModuleError) return false;
      throw error;
    }
  }

  /** Makes a folder of packages, from which leftovers are removed once. */
  async #prepare(folder: string): Promise<void> {
    let prepared = this.#prepared.get(folder);
    if (prepared === undefined) {
      prepared = mkdir(folder, { recursive: true }).then(async () =>
        removeLeftovers(folder, /\.[0-9a-f]{12}\.(?:partial|old)$/),
      );
      this.#prepared.set(folder, prepared);
    }
    await prepared;
  }

  /** Whether a place has a package already. */
  async #isThere(place: string, hash: string): Promise<boolean> {
    const stats = lstatSync(place, { throwIfNoEntry: false });
    if (stats?.isDirectory() !== true) return false;
    const found = await hashModuleTree(place, this.#options).catch(() => undefined);
    this.#options.signal?.throwIfAborted();
    return found === hash;
  }

  #pathOf(hash: string): string {
    const name = hash.replace(":", "-").replaceAll("/", "_").replaceAll("+", "-").replace("=", "");
    return join(this.#root, PACKAGES, name);
  }

  #nameFile(name: string): string {
    return join(this.#root, "names", createHash("sha256").update(name).digest("hex"));
  }
}

const PACKAGES = "packages";
/** The folder of packages that are not complete. */
const INCOMING = ".incoming";
/** And what such packages were called beside the others in earlier releases. */
const FORMER_INCOMING = /^\.incoming-/;
/** No installation takes longer: what is older was left by one that was killed. */
const LEFTOVER_MS = 24 * 60 * 60_000;

/** What comes in is readable by this user alone: a repository has the login of its address until it is complete. */
async function prepareIncoming(root: string, incoming: string): Promise<void> {
  mkdirSync(join(root, PACKAGES), { recursive: true });
  mkdirSync(incoming, { recursive: true, mode: 0o700 });
  await removeLeftovers(root, FORMER_INCOMING);
  await removeLeftovers(incoming, /^/);
}

/** Removes what killed installations left in a folder. What another process removes at the same time is no problem. */
async function removeLeftovers(folder: string, pattern: RegExp): Promise<void> {
  for (const name of (await readdir(folder)).filter((one) => pattern.test(one))) {
    const path = join(folder, name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined || Date.now() - stats.mtimeMs < LEFTOVER_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
}

/** Renames a folder to an unused path; an existing target stays. */
function renameNew(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!isTaken(error)) throw error;
  }
}

/** Replaces the target by a folder or a link, unless both are the same. */
export async function replaceFolder(
  fresh: string,
  place: string,
  isSame: () => Promise<boolean> = async () => false,
): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      renameSync(fresh, place);
      return;
    } catch (error) {
      if (!isTaken(error) || attempt >= 8) throw error;
    }
    if (await isSame()) return;
    const aside = `${place}.${randomBytes(6).toString("hex")}.old`;
    await rename(place, aside).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    await rm(aside, { recursive: true, force: true });
  }
}

function isTaken(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["EISDIR", "ENOTDIR", "ENOTEMPTY", "EEXIST", "EPERM"].includes(code);
}
