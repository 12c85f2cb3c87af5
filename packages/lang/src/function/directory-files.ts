import {
  type Dirent,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { BundleFiles, Machine } from "../eval/host.ts";
import { bundlePath } from "./bundle-path.ts";
import { invalidArgument } from "./parameter.ts";

/** Bounds on a folder that serves as a bundle. */
export interface DirectoryLimits {
  /** Largest file that is read, in bytes. @default 32 MiB */
  readonly maxFileBytes?: number;
  /** Most files that one listing gives. @default 100,000 */
  readonly maxFiles?: number;
  /**
   * Names of folders that are no part of the bundle, wherever they are.
   * @default `.git`, `.terraform`, `.stackwright`; with `machine` only `.stackwright`
   */
  readonly hiddenFolders?: readonly string[];
  /** A file that listings leave out, with an absolute path: what the command itself writes there. @default none */
  readonly hiddenFile?: string;
  /** The machine, for a user who runs a configuration there: all its files can be read. @default those of the folder alone */
  readonly machine?: Machine;
  /** See {@link BundleFiles}. @default none */
  readonly adviceOutside?: string;
}

/** Bytes from this size on are freed when they were used. */
const DISCARDED_BYTES = 1024 * 1024;

const HIDDEN_FOLDERS: readonly string[] = [".git", ".terraform", ".stackwright"];

/**
 * The files below a folder as a bundle. Nothing outside of the folder can be reached: paths that
 * leave it are refused, and so are symbolic links that lead out of it. With `machine` they are not
 * refused, and absolute forms are those of the machine. The folder must exist.
 */
export function createDirectoryFiles(folder: string, limits: DirectoryLimits = {}): BundleFiles {
  const root = realpathSync.native(folder);
  const { machine, adviceOutside, maxFileBytes = 32 * 1024 * 1024, maxFiles = 100_000 } = limits;
  const hiddenFile = limits.hiddenFile === undefined ? undefined : realPlace(limits.hiddenFile);
  const hidden = new Set(
    limits.hiddenFolders ?? (machine === undefined ? HIDDEN_FOLDERS : [".stackwright"]),
  );

  /** The real place of a path in the bundle; undefined where there is nothing. */
  const locate = (path: string): string | undefined => {
    const wanted = resolve(root, machine === undefined ? bundlePath(path, adviceOutside) : path);
    let real: string;
    try {
      // Not the one in JavaScript, which asks for each part of the path on its own.
      real = realpathSync.native(wanted);
    } catch {
      return undefined;
    }
    const inside = machine !== undefined || real === root || real.startsWith(root + sep);
    return inside
      ? real
      : invalidArgument("the path leads out of the template bundle through a link", 0);
  };
  const stat = (place: string): Stats | undefined => statSync(place, { throwIfNoEntry: false });

  const list = (place: string, prefix: string, depth: number, found: string[]): void => {
    for (const entry of readdirSync(place, { withFileTypes: true }).toSorted(byName)) {
      const path = prefix + entry.name;
      if (entry.isDirectory()) {
        if (depth > 1 && !hidden.has(entry.name)) {
          list(join(place, entry.name), `${path}/`, depth - 1, found);
        }
      } else if (hiddenFile !== undefined && join(place, entry.name) === hiddenFile) {
        // Not a part of the configuration.
      } else if (isFileInside(entry, machine === undefined ? root : undefined, place)) {
        found.push(path);
      }
      if (found.length > maxFiles)
        invalidArgument(`a listing may have at most ${maxFiles} files`, 0);
    }
  };

  return {
    ...(adviceOutside !== undefined && { adviceOutside }),
    ...(machine && {
      machine,
      realFolder: (path: string) => {
        const place = resolve(root, path);
        const real = locate(path) ?? place;
        if (real === place) return path;
        return isAbsolute(path) ? real : relative(root, real) || ".";
      },
    }),
    read: (path) => {
      const place = locate(path);
      const stats = place === undefined ? undefined : stat(place);
      if (place === undefined || stats === undefined) {
        return invalidArgument(`no file exists at ${JSON.stringify(path)}`, 0);
      }
      if (!stats.isFile())
        return invalidArgument(`${JSON.stringify(path)} is not a regular file`, 0);
      if (stats.size > maxFileBytes)
        return invalidArgument(`a file may have at most ${maxFileBytes} bytes`, 0);
      return readFileSync(place);
    },
    discard: ({ buffer, byteLength }) => {
      // Smaller ones are collected soon enough, and may share their memory with others.
      const owned = byteLength >= DISCARDED_BYTES && byteLength === buffer.byteLength;
      // As `transfer(0)` of newer runtimes: what receives it is collected at once.
      if (owned && buffer instanceof ArrayBuffer) structuredClone(buffer, { transfer: [buffer] });
    },
    exists: (path) => {
      const place = locate(path);
      const stats = place === undefined ? undefined : stat(place);
      if (stats === undefined) return false;
      return stats.isFile() || invalidArgument(`${JSON.stringify(path)} is not a regular file`, 0);
    },
    names: (path) => {
      const place = locate(path);
      if (place === undefined || stat(place)?.isDirectory() !== true) return [];
      const inside = machine === undefined ? root : undefined;
      return readdirSync(place, { withFileTypes: true })
        .filter((entry) => isFileInside(entry, inside, place))
        .map(({ name }) => name)
        .toSorted();
    },
    brokenLinks: (path) => {
      const place = locate(path);
      if (place === undefined || stat(place)?.isDirectory() !== true) return [];
      const inside = machine === undefined ? root : undefined;
      return readdirSync(place, { withFileTypes: true })
        .filter((entry) => entry.isSymbolicLink() && isBroken(inside, join(place, entry.name)))
        .map(({ name }) => name)
        .toSorted();
    },
    list: (path, pattern) => {
      const place = locate(path);
      const found: string[] = [];
      if (place !== undefined && stat(place)?.isDirectory() === true) {
        list(place, "", deepestMatch(pattern), found);
      }
      return found.toSorted();
    },
    absolute: (path) =>
      machine === undefined
        ? `/${relative(root, resolve(root, bundlePath(path, adviceOutside)))
            .split(sep)
            .join("/")}`
        : resolve(folder, path),
  };
}

/** The place of a file that is perhaps not there yet, without links in the path of its folder. */
function realPlace(file: string): string {
  try {
    return join(realpathSync.native(dirname(file)), basename(file));
  } catch {
    return file;
  }
}

/** How many folders deep the files are that a pattern can match, the given one included. */
function deepestMatch(pattern = "**"): number {
  const parts = pattern.split("/").filter((part) => part !== "" && part !== ".");
  return parts.includes("**") || /[{[]/.test(pattern) ? Number.POSITIVE_INFINITY : parts.length;
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/** Whether an entry of a folder is a regular file, or a link to one inside of the root, where there is one. */
function isFileInside(entry: Dirent, root: string | undefined, folder: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isFile();
  return leadsToFile(root, join(folder, entry.name));
}

/** Whether a link leads to a regular file inside of the root, where there is one. */
function leadsToFile(root: string | undefined, link: string): boolean {
  try {
    const real = realpathSync.native(link);
    const inside = root === undefined || real.startsWith(root + sep);
    return inside && statSync(real).isFile();
  } catch {
    return false;
  }
}

/** Whether a link leads to nothing, round in a circle, or out of the folder, where there is one. */
function isBroken(root: string | undefined, place: string): boolean {
  try {
    return !leadsToFile(root, place) && !statSync(place).isDirectory();
  } catch {
    return true;
  }
}
