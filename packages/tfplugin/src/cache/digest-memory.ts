import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { PackageHash } from "@stackwright/provider-source";
import { CacheFolder, isOwn } from "./cache-folder.ts";

/** Remembers hashes of packages, so that one that did not change is not read again. */
export interface DigestMemory {
  /** The hash of a package: remembered, else computed and, where that is safe, remembered. */
  hash(directory: string, compute: () => Promise<PackageHash>): Promise<PackageHash>;
}

/** What a file system says of one file, all of it: what differs is another file, or another content. */
type FileFacts = readonly [
  name: string,
  device: string,
  inode: string,
  size: string,
  modifiedNs: string,
  changedNs: string,
];

interface Remembered {
  readonly path: string;
  readonly files: readonly FileFacts[];
  readonly hash: string;
}

/**
 * Files younger than this are not relied upon, in milliseconds: file systems with coarse clocks give two changes one time. 2 s is the
 * coarsest one.
 */
const SETTLED_MS = 2000;
/** Packages have a handful of files. */
const MAX_FILES = 256;
const LIMITS = { maxFiles: 512, maxFileBytes: 1024 * 1024 };

/*
 * Why this is safe. A change of the content of a file, or another one in its place, changes the time of its last change
 * (ctime), which no program can set: it is taken by the kernel. That time, the inode, the device, the size and the time of
 * modification of every file have to be what they were, and the list of files the same. Two changes within one tick of
 * a file system's clock have one time; so a file that changed within the last two seconds is not remembered, and a package is
 * remembered only when it was the same before and after it was read. Only files count that belong to the user or to root and that
 * others cannot write, and no links. What is left: a disk that loses bits by itself, and who may set the clock or write to the device.
 * The command reads the package in full when it installs and before it applies.
 */

/** A memory in a folder of files. Systems without owners of files remember nothing. */
export function createDigestMemory(
  directory: string,
  now: () => number = () => Date.now(),
): DigestMemory {
  const folder = new CacheFolder(directory, LIMITS);
  return {
    async hash(packageDirectory, compute) {
      if (process.getuid === undefined) return compute();
      const path = await realpath(packageDirectory).catch(() => undefined);
      const before = path === undefined ? undefined : await factsOf(path, now());
      if (path === undefined || before === undefined) return compute();
      const name = createHash("sha256").update(path).digest("hex");
      const known = parse(await folder.read(name));
      if (known?.path === path && isSame(known.files, before)) return known.hash as PackageHash;
      const hash = await compute();
      const after = await factsOf(path, now());
      if (after !== undefined && isSame(before, after)) {
        const remembered: Remembered = { path, files: after, hash };
        await folder.write(name, Buffer.from(JSON.stringify(remembered)));
      }
      return hash;
    },
  };
}

/** Of all files below a folder, in the order of their names; undefined where one cannot be relied upon. */
async function factsOf(root: string, nowMs: number): Promise<FileFacts[] | undefined> {
  const found: FileFacts[] = [];
  const add = async (path: string): Promise<boolean> => {
    for (const entry of await readdir(join(root, path), { withFileTypes: true })) {
      const name = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!(await add(name))) return false;
        continue;
      }
      const facts = await lstat(join(root, name), { bigint: true });
      if (found.length >= MAX_FILES || !isReliable(facts, nowMs)) return false;
      found.push([
        name,
        `${facts.dev}`,
        `${facts.ino}`,
        `${facts.size}`,
        `${facts.mtimeNs}`,
        `${facts.ctimeNs}`,
      ]);
    }
    return true;
  };
  try {
    if (!(await add(""))) return undefined;
  } catch {
    return undefined;
  }
  return found.length === 0 ? undefined : found.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function isReliable(facts: BigIntStats, nowMs: number): boolean {
  if (!facts.isFile()) return false;
  if (!isOwn({ uid: Number(facts.uid), mode: Number(facts.mode) })) return false;
  return Number(facts.ctimeMs) + SETTLED_MS < nowMs;
}

function isSame(one: readonly FileFacts[], other: readonly FileFacts[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function parse(bytes: Buffer | undefined): Remembered | undefined {
  if (bytes === undefined) return undefined;
  try {
    const { path, files, hash } = JSON.parse(bytes.toString("utf8")) as Partial<Remembered>;
    if (typeof path !== "string" || typeof hash !== "string" || !hash.startsWith("h1:")) {
      return undefined;
    }
    return Array.isArray(files) ? { path, files, hash } : undefined;
  } catch {
    return undefined;
  }
}
