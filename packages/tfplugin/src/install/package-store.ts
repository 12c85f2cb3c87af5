import { randomBytes } from "node:crypto";
import {
  cp,
  mkdir,
  mkdtempDisposable,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type ArchiveLimits,
  hashArchive,
  hashDirectory,
  type PackageHash,
  type PackageId,
  ProviderSourceError,
  providerExecutable,
  unpackArchive,
  unpackedPath,
} from "@stackwright/provider-source";
import type { DigestMemory } from "../cache/digest-memory.ts";
import { TfpluginError } from "../errors.ts";

/** How often it is tried to be the one who puts a package in its place. */
const MAX_ATTEMPTS = 8;

/*
 * A folder of unpacked packages that several processes may use at the same time, without locks: a package appears whole,
 * by one rename, or not at all; the second process finds it there, and makes sure that it is the same.
 */
export class PackageStore {
  readonly root: string;
  readonly #limits: ArchiveLimits | undefined;

  constructor(root: string, limits: ArchiveLimits | undefined) {
    this.root = root;
    this.#limits = limits;
  }

  pathOf(id: PackageId): string {
    return join(this.root, unpackedPath(id));
  }

  /** The hash of the package that is there; undefined where there is none. Read in full without a memory. */
  async hashOf(
    id: PackageId,
    signal: AbortSignal | undefined,
    memory?: DigestMemory,
  ): Promise<PackageHash | undefined> {
    const path = this.pathOf(id);
    if (!(await isDirectory(path))) return undefined;
    const compute = async () => hashDirectory(path, { ...(signal !== undefined && { signal }) });
    return memory === undefined ? compute() : memory.hash(path, compute);
  }

  /** A folder on the same file system, for files on their way into the store. */
  async scratch(): Promise<{ readonly path: string } & AsyncDisposable> {
    await mkdir(this.root, { recursive: true });
    const folder = await mkdtempDisposable(join(this.root, ".incoming-"));
    return { path: folder.path, [Symbol.asyncDispose]: () => folder.remove() };
  }

  /**
   * Unpacks an archive to its place; a package that is there and is another one makes way. Rejects with what
   * `unpackArchive` rejects with, above all for paths that lead out of the package.
   */
  async unpack(
    id: PackageId,
    archive: string,
    signal: AbortSignal | undefined,
  ): Promise<PackageHash> {
    const options = {
      ...(this.#limits !== undefined && { limits: this.#limits }),
      ...(signal !== undefined && { signal }),
    };
    const place = this.pathOf(id);
    const { h1 } = await hashArchive(archive, options);
    await mkdir(dirname(place), { recursive: true });
    for (let attempt = 0; ; attempt += 1) {
      const present = await this.hashOf(id, signal);
      if (present === h1) return h1;
      // Only what was seen to be another package makes way: what another process has just put there may be in use.
      if (present !== undefined) await setAside(place);
      try {
        await unpackArchive(archive, place, options);
        return h1;
      } catch (error) {
        const isTaken = ProviderSourceError.is(error, "PROVIDER_SOURCE_DESTINATION_EXISTS");
        if (!isTaken || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  /** Makes a package that lies elsewhere appear here, as a link, or as a copy where there are no links. */
  async link(id: PackageId, source: string): Promise<void> {
    const place = this.pathOf(id);
    if ((await readlink(place).catch(() => undefined)) === source) return;
    await mkdir(dirname(place), { recursive: true });
    const fresh = `${place}.${randomBytes(6).toString("hex")}`;
    try {
      await symlink(source, fresh, "dir");
    } catch {
      await cp(source, fresh, { recursive: true });
    }
    try {
      await replace(fresh, place);
    } catch (error) {
      await rm(fresh, { recursive: true, force: true });
      throw error;
    }
  }

  /** The program of a package that is there. `TFPLUGIN_PACKAGE_INVALID` where it has none. */
  async executableOf(id: PackageId): Promise<string> {
    return executableIn(this.pathOf(id), id.address.type);
  }
}

/** The program of a provider in a folder. `TFPLUGIN_PACKAGE_INVALID` where there is none. */
export async function executableIn(folder: string, type: string): Promise<string> {
  let names: readonly string[] = [];
  try {
    names = await readdir(folder);
  } catch (cause) {
    throw new TfpluginError("TFPLUGIN_PACKAGE_INVALID", `${folder} cannot be read`, { cause });
  }
  const name = providerExecutable(names, type);
  if (name !== undefined) return join(folder, name);
  const text = `${folder} has no program terraform-provider-${type}`;
  throw new TfpluginError("TFPLUGIN_PACKAGE_INVALID", text);
}

/** Puts a link, or a folder, in the place of what exists. A link takes the place of another one without a moment between. */
async function replace(fresh: string, place: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await rename(fresh, place);
      return;
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      const isTaken = ["EISDIR", "ENOTDIR", "ENOTEMPTY", "EEXIST", "EPERM"].includes(code);
      if (!isTaken || attempt >= MAX_ATTEMPTS) throw error;
      await setAside(place);
    }
  }
}

/** Takes away what is at a path, at once. A process that runs from it continues. */
async function setAside(place: string): Promise<void> {
  const aside = `${place}.${randomBytes(6).toString("hex")}.old`;
  try {
    await rename(place, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}
