import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readlink, realpath, rm, stat } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { ModuleError } from "@stackwright/lang";

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

/**
 * Checks an unpacked package and returns the `h1:` hash of its content: of all files, and of links by where they lead. Rejects
 * with a `ModuleError` for links that lead out of the package, for what is neither a file nor a folder nor a link, and beyond
 * the limits.
 */
export async function hashModuleTree(
  folder: string,
  { limits = {}, signal }: { readonly limits?: ModuleLimits; readonly signal?: AbortSignal } = {},
): Promise<string> {
  const { maxBytes, maxFiles } = { ...DEFAULT_MODULE_LIMITS, ...limits };
  const root = await realpath(folder);
  const lines: { readonly name: string; readonly digest: string }[] = [];
  let bytes = 0;

  const visit = async (prefix: string): Promise<void> => {
    for (const entry of await readdir(join(root, prefix), { withFileTypes: true })) {
      signal?.throwIfAborted();
      const name = `${prefix}${entry.name}`;
      const path = join(root, name);
      // The lines of two files would be those of one with such a name.
      if (name.includes("\n")) throw refused(`${JSON.stringify(name)} has a line break`);
      if (entry.isDirectory()) await visit(`${name}/`);
      else if (entry.isSymbolicLink()) {
        await checkLink(root, name);
        lines.push({ name, digest: sha256(`link ${await readlink(path)}`) });
      } else if (entry.isFile()) {
        bytes += (await stat(path)).size;
        if (bytes > maxBytes) throw refused(`its files have more than ${maxBytes} bytes`);
        lines.push({ name, digest: await fileDigest(path) });
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

async function fileDigest(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
