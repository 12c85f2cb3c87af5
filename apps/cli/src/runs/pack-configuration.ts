import { createReadStream } from "node:fs";
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { findBundleRoot } from "@stackwright/core";
import { packTarball, type TarballEntry } from "@stackwright/provider-source";
import { CommandError } from "../command-error.ts";
import { type IgnoreRules, parseIgnoreRules } from "./ignore-rules.ts";
import { isWithin, outsideModules } from "./outside-modules.ts";

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

/** A configuration whose root module may be in a folder of the archive. */
interface PackedRoot extends PackedConfiguration {
  /** Folder of the root module in the archive, with slashes; empty for the archive itself. */
  readonly root: string;
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
  const found = await filesOf(await existingFolder(directory), "", signal);
  requireConfiguration(found, "", directory);
  return packed(found, signal);
}

/**
 * Packs a folder with the modules that it calls by local paths outside of it, as they lie beneath the nearest folder above all of them;
 * with `above`, everything beneath that folder. Ignore files count in the folder that is packed, its modules each by their own.
 * A module that is called by a link lies where the link is, also by one in the folder that leads to another place of the repository. `CommandError` as of `packConfiguration`, and for modules outside of the repository.
 *
 * @param adviceOutside what a user does about such a module
 */
export async function packWithModules(
  directory: string,
  above: string | undefined,
  signal: AbortSignal,
  adviceOutside = "Name a folder above it and the configuration with --root: all of it is uploaded.",
): Promise<PackedRoot> {
  const folder = await existingFolder(directory);
  if (above !== undefined) {
    const base = await existingFolder(above);
    if (!isWithin(folder, base)) {
      throw new CommandError(`The folder "${directory}" is not in "${above}".`, {
        advice: "--root names a folder above the one that is planned.",
      });
    }
    const root = slashed(relative(base, folder));
    const found = await filesOf(base, "", signal);
    requireConfiguration(found, root, directory);
    return { ...packed(found, signal), root };
  }
  const modules = await outsideModules(folder);
  const repository = findBundleRoot(folder);
  const elsewhere = modules.find(
    ({ path, folder: target }) => !isWithin(path, repository) || !isWithin(target, repository),
  );
  if (elsewhere !== undefined) {
    throw new CommandError(`The module in "${elsewhere.folder}" is outside of the repository.`, {
      advice: adviceOutside,
    });
  }
  const places = [{ path: folder, folder }, ...modules];
  const base = nearestAbove(places.map(({ path }) => path));
  const root = slashed(relative(base, folder));
  // What a link leads to is packed where the link is; where it lies itself, it is a part of what it lies in.
  const apart = new Set(places.filter((one) => one.path === one.folder).map(({ path }) => path));
  const parts: Found[] = [];
  for (const { path, folder: part } of places) {
    parts.push(await filesOf(part, slashed(relative(base, path)), signal, { apart, repository }));
  }
  const found = {
    entries: parts.flatMap(({ entries }) => entries),
    withheld: parts.flatMap(({ withheld }) => withheld),
  };
  requireConfiguration(found, root, directory);
  return { ...packed(found, signal), root };
}

interface Found {
  readonly entries: readonly TarballEntry[];
  readonly withheld: readonly string[];
}

/** What is packed of a folder, below a prefix of the archive, without folders in it that are packed by their own ignore file. */
async function filesOf(
  root: string,
  prefix: string,
  signal: AbortSignal,
  { apart, repository }: Pick<Walk, "apart" | "repository"> = {
    apart: new Set(),
    repository: root,
  },
): Promise<Found> {
  const rules = parseIgnoreRules(await ignoreText(root));
  const entries: TarballEntry[] = [];
  const withheld: string[] = [];
  await addFolder({ root, repository, rules, apart, entries, withheld, signal }, root, "", []);
  if (prefix === "") return { entries, withheld };
  return {
    entries: entries.map((entry) => ({ ...entry, path: `${prefix}/${entry.path}` })),
    withheld: withheld.map((path) => `${prefix}/${path}`),
  };
}

function packed({ entries, withheld }: Found, signal: AbortSignal): PackedConfiguration {
  const files = entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return {
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    withheld: withheld.toSorted(),
    content: () => packTarball(files, { signal }),
  };
}

async function existingFolder(directory: string): Promise<string> {
  return realpath(directory).catch((cause: unknown) => {
    throw new CommandError(`The folder "${directory}" does not exist.`, { cause });
  });
}

function requireConfiguration({ entries }: Found, root: string, directory: string): void {
  const prefix = root === "" ? "" : `${root}/`;
  const has = entries.some(
    ({ path }) =>
      path.startsWith(prefix) && /^[^/]+\.tf(?:\.json)?$/.test(path.slice(prefix.length)),
  );
  if (!has) {
    throw new CommandError(`The folder "${directory}" has no configuration files (*.tf).`);
  }
}

/** The nearest folder that holds all of some folders. */
function nearestAbove([first = sep, ...others]: readonly string[]): string {
  let base = first;
  while (!others.every((folder) => isWithin(folder, base))) base = dirname(base);
  return base;
}

function slashed(path: string): string {
  return path.replaceAll(sep, "/");
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
  /** Where links may lead beside the root. */
  readonly repository: string;
  readonly rules: IgnoreRules;
  /** Where a link led beside the root: the ignore file there counts too. */
  readonly beside?: { readonly folder: string; readonly rules: IgnoreRules } | undefined;
  /** Real paths of folders that are packed for themselves. */
  readonly apart: ReadonlySet<string>;
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
    if (walk.apart.has(join(folder, name))) continue;
    const { isDirectory, file } = await targetOf(walk, join(folder, name), path);
    if (file === undefined) continue;
    if (isDirectory) {
      const within = [...above, folder];
      if (!within.includes(file) && !walk.rules.isClosed(path))
        await addFolder(await walkBehind(walk, join(folder, name), file), file, path, within);
      continue;
    }
    if (walk.rules.isIgnored(path, false)) {
      if (walk.rules.isWithheld(path)) walk.withheld.push(path);
      continue;
    }
    if (await isLeftOutThere(walk, file)) continue;
    const { size, mode } = await stat(file);
    const executable = (mode & 0o100) !== 0;
    walk.entries.push({ path, size, executable, content: () => createReadStream(file) });
  }
}

/** The walk of a folder: by the ignore file in it too where a link led there from elsewhere. */
async function walkBehind(walk: Walk, path: string, folder: string): Promise<Walk> {
  if (path === folder || isWithin(folder, walk.root)) return walk;
  return { ...walk, beside: await besideOf(folder) };
}

async function besideOf(folder: string): Promise<Walk["beside"]> {
  const text = await ignoreText(folder);
  return text === "" ? undefined : { folder, rules: parseIgnoreRules(text) };
}

/** Whether the ignore file beside the root leaves a file out to which a link led. */
async function isLeftOutThere({ root, beside }: Walk, file: string): Promise<boolean> {
  if (isWithin(file, root)) return false;
  const there = beside && isWithin(file, beside.folder) ? beside : await besideOf(dirname(file));
  return there?.rules.isIgnored(slashed(relative(there.folder, file)), false) === true;
}

/** The file or folder behind a path; undefined for sockets and the like, and for links that are left out. */
async function targetOf(
  { root, repository, rules }: Walk,
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
  const isBeside = !isWithin(target, root);
  if (isBeside && !isWithin(target, repository)) {
    throw new CommandError(`The link "${path}" leads out of the folder, to "${target}".`, {
      advice: "Copy the files into the folder, or name the link in .terraformignore.",
    });
  }
  const isDirectory = (await stat(target)).isDirectory();
  // A key stays here by whatever name.
  const own = slashed(relative(isBeside ? repository : root, target));
  const isIgnored = (isBeside ? parseIgnoreRules("") : rules).isIgnored(own, isDirectory);
  return { isDirectory, file: isIgnored ? undefined : target };
}
