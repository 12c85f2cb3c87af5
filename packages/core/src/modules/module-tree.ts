import { createHash } from "node:crypto";
import {
  constants,
  copyFileSync,
  createReadStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from "node:fs";
import { copyFile, readdir, readlink, realpath, rm, symlink } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { ModuleError } from "@stackwright/lang";
import { Pauses, SMALL_FILE_BYTES } from "./small-files.ts";

/** What a package of a module may cost. Sizes in bytes. */
export interface ModuleLimits {
  /** All files together. @default 500 MiB */
  readonly maxBytes?: number;
  /** @default 100,000 */
  readonly maxFiles?: number;
}

export const DEFAULT_MODULE_LIMITS = Object.freeze({
  maxBytes: 500 * 1024 * 1024,
  maxFiles: 100_000,
});

/** Removes what belongs to git and not to the package, in all folders. */
export async function removeRepositories(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.name === ".git") await rm(path, { recursive: true, force: true });
    else if (entry.isDirectory()) await removeRepositories(path);
  }
}

interface TreeOptions {
  readonly limits?: ModuleLimits;
  readonly signal?: AbortSignal;
}

/**
 * Checks an unpacked package and returns the `h1:` hash of its content: of all files, and of links by where they lead. Rejects
 * with a `ModuleError` for links that lead out of the package, for what is neither a file nor a folder nor a link, and beyond
 * the limits.
 */
export async function hashModuleTree(folder: string, options: TreeOptions = {}): Promise<string> {
  return visitTree(folder, undefined, options);
}

/**
 * Copies an unpacked package into a folder that does not exist yet, checks it as {@link hashModuleTree} does, and returns the hash of
 * the copy.
 */
export async function copyModuleTree(
  folder: string,
  target: string,
  options: TreeOptions = {},
): Promise<string> {
  mkdirSync(target);
  return visitTree(folder, target, options);
}

async function visitTree(
  folder: string,
  target: string | undefined,
  { limits = {}, signal }: TreeOptions,
): Promise<string> {
  const { maxBytes, maxFiles } = { ...DEFAULT_MODULE_LIMITS, ...limits };
  const root = realpathSync.native(folder);
  const pauses = new Pauses();
  const lines: { readonly name: string; readonly digest: string }[] = [];
  let bytes = 0;

  const visitFile = async (name: string): Promise<string> => {
    const path = join(root, name);
    const { size } = statSync(path);
    bytes += size;
    if (bytes > maxBytes) throw refused(`its files have more than ${maxBytes} bytes`);
    if (target === undefined) return fileDigest(path, size);
    const copy = join(target, name);
    const flags = constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE;
    if (size <= SMALL_FILE_BYTES) copyFileSync(path, copy, flags);
    else await copyFile(path, copy, flags);
    return fileDigest(copy, size);
  };

  const visitLink = async (name: string): Promise<string> => {
    await checkLink(root, name);
    const leadsTo = await readlink(join(root, name));
    if (target !== undefined) await symlink(leadsTo, join(target, name));
    return sha256(`link ${leadsTo}`);
  };

  const visit = async (prefix: string): Promise<void> => {
    for (const entry of readdirSync(join(root, prefix), { withFileTypes: true })) {
      await pauses.step();
      signal?.throwIfAborted();
      const name = `${prefix}${entry.name}`;
      // The lines of two files would be those of one with such a name.
      if (name.includes("\n")) throw refused(`${JSON.stringify(name)} has a line break`);
      if (entry.isDirectory()) {
        if (target !== undefined) mkdirSync(join(target, name));
        await visit(`${name}/`);
      } else if (entry.isSymbolicLink()) {
        lines.push({ name, digest: await visitLink(name) });
      } else if (entry.isFile()) {
        lines.push({ name, digest: await visitFile(name) });
      } else {
        throw refused(`${JSON.stringify(name)} is neither a file nor a folder`);
      }
      if (lines.length > maxFiles) throw refused(`it has more than ${maxFiles} files`);
    }
  };

  await visit("");
  const sorted = lines.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  const summary = createHash("sha256");
  for (const { name, digest } of sorted) summary.update(`${digest}  ${name}\n`);
  return `h1:${summary.digest("base64")}`;
}

/** A link stays in the package, also where it leads to nothing. */
async function checkLink(root: string, name: string): Promise<void> {
  const path = join(root, name);
  const written = resolve(dirname(path), await readlink(path));
  const real = await realpath(path).catch(() => written);
  for (const target of [written, real]) {
    if (target === root || target.startsWith(root + sep)) continue;
    throw refused(`the link ${JSON.stringify(name)} leads out of it`);
  }
}

function refused(why: string): ModuleError {
  return new ModuleError("Failed to download module", `The package is refused: ${why}.`);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function fileDigest(path: string, size: number): Promise<string> {
  const hash = createHash("sha256");
  if (size <= SMALL_FILE_BYTES) return hash.update(readFileSync(path)).digest("hex");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
