import { randomUUID } from "node:crypto";
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { getAsset } from "node:sea";
import { FUSE } from "./fuse.ts";

/**
 * What is known of the other assets. It is read once: for each question about an asset Node goes through the list of all of them, which
 * would take longer than all else that a start does.
 */
const INDEX_ASSET = "index";
const FOLDER_VARIABLE = "STACKWRIGHT_UNPACK_FOLDER";
const ABANDONED_MS = 3_600_000;

/** The release that an executable holds. */
interface ReleaseIndex {
  /** Of all of its files. */
  readonly digest: string;
  /** In bytes, by path. */
  readonly sizes: Readonly<Record<string, number>>;
}

/** What runs in place of the program inside the executable. */
interface Command {
  /** The Node that its threads, child processes and providers get. */
  readonly node: string;
  /** Its file. */
  readonly path: string;
  /** The name that it was called by. */
  readonly calledAs: string;
}

/**
 * Becomes the command. It runs from files, as it does where npm installed it: its child processes and programs that are written for
 * Node need a Node of their own. So the executable unpacks itself once for each release, with a copy of its Node, and every start
 * after that loads the command from there. The process stays the same one, with the Node that it has started already.
 */
export function launch(become: (command: Command) => void = run): void {
  let folder: string;
  try {
    folder = unpacked(JSON.parse(getAsset(INDEX_ASSET, "utf8")) as ReleaseIndex);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(
      `Error: Cannot unpack Stackwright\n\n  ${reason}\n` +
        `  Help: set ${FOLDER_VARIABLE} to a folder that can be written and from which programs can be started.\n`,
    );
    process.exitCode = 1;
    return;
  }
  become({
    node: join(folder, "bin/node"),
    path: join(folder, "bin/stackwright.cjs"),
    // The name of a link: the command reads it, and removes it.
    calledAs: process.env["STACKWRIGHT_CALLED_AS"] ?? basename(process.argv0),
  });
}

/** Runs the command here: what it starts with the path of its Node gets the copy, which is Node alone. */
function run({ node, path, calledAs }: Command): void {
  process.execPath = node;
  process.argv = [node, path, ...process.argv.slice(2)];
  process.env["STACKWRIGHT_CALLED_AS"] = calledAs;
  createRequire(path)(path);
}

/** The folder of this release, made where it is not there yet. */
function unpacked(index: ReleaseIndex): string {
  const reasons: string[] = [];
  for (const parent of parents()) {
    const folder = join(parent, index.digest);
    try {
      if (!existsSync(folder)) unpackTo(folder, index);
      requireOwn(parent);
      const node = join(folder, "bin/node");
      // It would become itself without an end.
      if (existsSync(node) && realpathSync(node) === process.execPath)
        throw new Error(`${folder} is not complete; remove it`);
      repair(folder, node, index);
      accessSync(node, constants.X_OK);
      return folder;
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(reasons.join("\n  "));
}

/** Where it may be, the best place first. */
function parents(): string[] {
  const { [FOLDER_VARIABLE]: chosen, XDG_CACHE_HOME: cache } = process.env;
  if (chosen !== undefined && chosen !== "") return [chosen];
  const folders = [join(tmpdir(), `stackwright-${process.getuid?.() ?? 0}`)];
  const home = homeOrNone();
  if (cache !== undefined && cache !== "") folders.unshift(join(cache, "stackwright/executable"));
  else if (home !== "" && home !== "/") {
    folders.unshift(join(home, ".cache/stackwright/executable"));
  }
  return folders;
}

/** Empty for a user without a name on this machine, as containers have them. */
function homeOrNone(): string {
  try {
    return homedir();
  } catch {
    return "";
  }
}

/** What runs from there has to be what this user, or the administrator, unpacked. A link has to be theirs, too. */
function requireOwn(parent: string): void {
  const isTrusted = ({ uid }: Stats) => uid === process.getuid?.() || uid === 0;
  const found = statSync(parent);
  if (!isTrusted(lstatSync(parent)) || !isTrusted(found) || (found.mode & 0o022) !== 0) {
    throw new Error(`${parent} can be changed by other users`);
  }
}

/** Removes what processes left that were stopped while they unpacked, which takes seconds. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const path = join(parent, name);
    if (!/^[0-9a-f]{32}\.[0-9A-Za-z]{6}$/.test(name)) continue;
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (Date.now() - mtimeMs > ABANDONED_MS) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * Under a name of its own until it is complete: several may begin at once, also with one id of their processes, as containers that share
 * the folder have it, and any may be stopped.
 */
function unpackTo(folder: string, { sizes }: ReleaseIndex): void {
  const parent = dirname(folder);
  // Others must not change what runs, whatever this shell lets them change; services run what an administrator unpacked.
  const umask = process.umask(0o022);
  let partial: string | undefined;
  try {
    makeFolder(parent);
    requireOwn(parent);
    removeAbandoned(parent);
    partial = mkdtempSync(`${folder}.`);
    chmodSync(partial, 0o755);
    for (const name of Object.keys(sizes)) writeAsset(name, join(partial, name));
    copyNode(join(partial, "bin/node"));
    renameSync(partial, folder);
  } catch (error) {
    if (partial !== undefined) rmSync(partial, { recursive: true, force: true });
    // Another process was first.
    if (!existsSync(folder)) throw error;
  } finally {
    process.umask(umask);
  }
}

/**
 * Writes what the folder lost, as services that tidy up caches by the age of files take single ones away. In its place and one by one:
 * processes that run from there keep all that they have.
 */
function repair(folder: string, node: string, { sizes }: ReleaseIndex): void {
  const lost = Object.keys(sizes).filter((name) => sizeOf(`${folder}/${name}`) !== sizes[name]);
  const isNodeLost = sizeOf(node) !== statSync(process.execPath).size;
  if (lost.length === 0 && !isNodeLost) return;
  const umask = process.umask(0o022);
  const replace = (path: string, write: (path: string) => void) => {
    const partial = `${path}.${randomUUID()}`;
    try {
      write(partial);
      renameSync(partial, path);
    } catch (error) {
      if (existsSync(partial)) rmSync(partial);
      throw new Error(`${folder} lost files and cannot be completed; remove it`, { cause: error });
    }
  };
  try {
    for (const name of lost) {
      replace(join(folder, name), (path) => writeAsset(name, path));
    }
    if (isNodeLost) replace(node, copyNode);
  } finally {
    process.umask(umask);
  }
}

/** Undefined where there is no file. */
function sizeOf(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.size : undefined;
}

function writeAsset(name: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const mode = name.startsWith("bin/") ? 0o755 : 0o644;
  writeFileSync(path, new Uint8Array(getAsset(name)), { mode });
}

/** Makes a folder with those above it. That of Node does not end where the system answers that there is no such place, as in /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  try {
    mkdirSync(path, 0o755);
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}

/** Writes the Node of this executable, which runs what it is called with. */
function copyNode(path: string): void {
  copyFileSync(process.execPath, path, constants.COPYFILE_FICLONE);
  // The copy has the mode of the executable, which need not be writable.
  chmodSync(path, 0o755);
  const at = readFileSync(path).indexOf(`${FUSE}:1`);
  if (at === -1) throw new Error(`${process.execPath} is not an executable of Stackwright`);
  const file = openSync(path, "r+", 0o755);
  try {
    writeSync(file, "0", at + FUSE.length + 1);
  } finally {
    closeSync(file);
  }
}
