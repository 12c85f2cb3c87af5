import { createReadStream } from "node:fs";
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { packTarball, type TarballEntry } from "@stackwright/provider-source";
import { CommandError } from "../command-error.ts";
import { type IgnoreRules, parseIgnoreRules } from "./ignore-rules.ts";

/** Files that say what is left out; the first one that exists counts. */
const IGNORE_FILES = [".stackwrightignore", ".terraformignore"];

/** A configuration as a server takes it. */
interface PackedConfiguration {
  readonly files: number;
  readonly bytes: number;
  /** Paths of files that stay here because they hold secrets (states, `.env`), sorted. */
  readonly withheld: readonly string[];
  /** The archive, each time from its beginning. */
  readonly content: () => AsyncIterable<Uint8Array>;
}

/**
 * Packs a folder with a configuration, without what its ignore file names. A link is packed as what it leads to, inside of the folder,
 * unless that is left out.
 * `CommandError` for a folder without configuration files, and for links that lead out of it.
 */
export async function packConfiguration(
  directory: string,
  signal: AbortSignal,
): Promise<PackedConfiguration> {
  const root = await realpath(directory).catch((cause: unknown) => {
    throw new CommandError(`The folder "${directory}" does not exist.`, { cause });
  });
  const rules = parseIgnoreRules(await ignoreText(root));
  const entries: TarballEntry[] = [];
  const withheld: string[] = [];
  await addFolder({ root, rules, entries, withheld, signal }, root, "", []);
  const files = entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  if (!files.some(({ path }) => /^[^/]+\.tf(?:\.json)?$/.test(path))) {
    throw new CommandError(`The folder "${directory}" has no configuration files (*.tf).`);
  }
  return {
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    withheld: withheld.toSorted(),
    content: () => packTarball(files, { signal }),
  };
}

async function ignoreText(root: string): Promise<string> {
  for (const name of IGNORE_FILES) {
    try {
      return await readFile(join(root, name), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return "";
}

interface Walk {
  readonly root: string;
  readonly rules: IgnoreRules;
  readonly entries: TarballEntry[];
  readonly withheld: string[];
  readonly signal: AbortSignal;
}

/** Adds what is in a folder; `above` are the folders that the walk is in, so that links make no circle. */
async function addFolder(
  walk: Walk,
  folder: string,
  prefix: string,
  above: readonly string[],
): Promise<void> {
  walk.signal.throwIfAborted();
  for (const { name } of await readdir(folder, { withFileTypes: true })) {
    const path = prefix === "" ? name : `${prefix}/${name}`;
    const { isDirectory, file } = await targetOf(walk, join(folder, name), path);
    if (file === undefined) continue;
    if (isDirectory) {
      const within = [...above, folder];
      if (!within.includes(file) && !walk.rules.isClosed(path))
        await addFolder(walk, file, path, within);
      continue;
    }
    if (walk.rules.isIgnored(path, false)) {
      if (walk.rules.isWithheld(path)) walk.withheld.push(path);
      continue;
    }
    const { size, mode } = await stat(file);
    const executable = (mode & 0o100) !== 0;
    walk.entries.push({ path, size, executable, content: () => createReadStream(file) });
  }
}

/** The file or folder behind a path; undefined for sockets and the like, and for links that are left out. */
async function targetOf(
  { root, rules }: Walk,
  file: string,
  path: string,
): Promise<{ readonly isDirectory: boolean; readonly file: string | undefined }> {
  const info = await lstat(file);
  if (!info.isSymbolicLink()) {
    const isTaken = info.isFile() || info.isDirectory();
    return { isDirectory: info.isDirectory(), file: isTaken ? file : undefined };
  }
  if (rules.isIgnored(path, true)) return { isDirectory: false, file: undefined };
  const target = await realpath(file).catch((cause: unknown) => {
    throw new CommandError(`The link "${path}" leads to a file that does not exist.`, { cause });
  });
  if (target !== root && !target.startsWith(root + sep)) {
    throw new CommandError(`The link "${path}" leads out of the folder, to "${target}".`, {
      advice: "Copy the files into the folder, or name the link in .terraformignore.",
    });
  }
  const isDirectory = (await stat(target)).isDirectory();
  // A key stays here by whatever name.
  const own = relative(root, target).replaceAll(sep, "/");
  return { isDirectory, file: rules.isIgnored(own, isDirectory) ? undefined : target };
}
