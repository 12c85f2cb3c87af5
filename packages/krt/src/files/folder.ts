import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import type { Collection, CollectionOptions } from "../collection.ts";
import type { Owner } from "../core/scope.ts";
import { SourceNode } from "../core/source-node.ts";
import { type Kind, type KindCapability, shapeKind } from "../kind.ts";
import type { Scope } from "../scope.ts";
import { ownerOf } from "../scope-handle.ts";
import { firstReading, followFiles } from "./follow-files.ts";
import type { ReadCycle, Rereader, WatchFilesOptions } from "./rereader.ts";

/** Options of {@link watchFolder}. */
export interface FolderOptions<T, Tr extends KindCapability>
  extends CollectionOptions,
    WatchFilesOptions {
  readonly kind?: Kind<T, Tr>;
  /**
   * Names of files to read end with one of these.
   * @default [".json", ".yaml", ".yml"]
   */
  readonly extensions?: readonly string[];
  /**
   * Whether folders inside the folder are read too.
   * @default true
   */
  readonly recursive?: boolean;
}

/** Makes objects of the text of a file. Nothing, or nothing in the place of an object, adds none. */
export type ParseFolderFile<T> = (
  text: string,
  path: string,
) => Iterable<T | undefined | null> | undefined;

/** The objects in the files of a folder. */
export interface FolderCollection<T, Tr extends KindCapability = never> extends Collection<T, Tr> {
  /** Reads the folder now. Rejects with `KRT_SOURCE`, and leaves everything as it was, where that fails. */
  resync(): Promise<void>;
}

/**
 * A collection of the objects in the files of a folder, which follows the folder.
 *
 * A change leads to one reading of the whole folder, whose result is compared with the current objects: only
 * objects that differ change, all in one turn. When a file cannot be read or parsed, or two objects have
 * the same key, nothing changes and the failure is reported as `KRT_SOURCE`; empty files count as
 * absent, since writers that are not atomic leave them for a moment. Replacing files by renaming, and
 * links that are moved from one folder to another (as mounted configuration is), are noticed. Entries
 * whose names begin with two dots and links to folders are left out.
 *
 * Resolves when the first reading is in, so that the collection is synced; rejects with `KRT_SOURCE`
 * when that fails. Disposing the collection ends the watching.
 */
export async function watchFolder<T, Tr extends KindCapability = never>(
  scope: Scope,
  path: string,
  parse: ParseFolderFile<T>,
  options: FolderOptions<T, Tr> = {},
): Promise<FolderCollection<T, Tr>> {
  const owner = ownerOf(scope);
  const node = new FolderNode<T>(owner, path, parse, options);
  owner.graph.construct(node, () => node.begin([], false));
  return firstReading(node);
}

class FolderNode<T> extends SourceNode<T> implements FolderCollection<T> {
  readonly #path: string;
  readonly #parse: ParseFolderFile<T>;
  readonly #extensions: ReadonlySet<string>;
  readonly #recursive: boolean;
  readonly #rereader: Rereader;

  constructor(
    owner: Owner,
    path: string,
    parse: ParseFolderFile<T>,
    options: FolderOptions<T, never>,
  ) {
    super(owner, options.kind ?? shapeKind<T>(), options, "watch");
    this.#path = path;
    this.#parse = parse;
    this.#extensions = new Set(options.extensions ?? [".json", ".yaml", ".yml"]);
    this.#recursive = options.recursive ?? true;
    this.#rereader = followFiles(this, options, {
      what: () => `the folder of ${this.name}`,
      debounceMs: 250,
      read: (cycle) => this.#read(cycle),
    });
  }

  resync(): Promise<void> {
    return this.#rereader.readNow();
  }

  protected override release(): void {
    this.#rereader.close();
  }

  async #read(cycle: ReadCycle): Promise<void> {
    const objects = new Map<string, T>();
    await this.#readFolder(this.#path, cycle, objects);
    if (this.disposed) return;
    await this.load(objects.values(), { replace: true });
    this.markSynced();
  }

  async #readFolder(folder: string, cycle: ReadCycle, into: Map<string, T>): Promise<void> {
    cycle.watch(folder);
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith("..")) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (this.#recursive) await this.#readFolder(path, cycle, into);
      } else if (this.#extensions.has(extname(entry.name)) && (await isFile(path))) {
        await this.#readOne(path, into);
      }
    }
  }

  async #readOne(path: string, into: Map<string, T>): Promise<void> {
    const text = await readFile(path, "utf8");
    if (text.trim() === "") return;
    for (const object of this.#parsed(text, path)) {
      if (object === undefined || object === null) continue;
      const key = this.keyOf(object);
      if (into.has(key)) throw new Error(`${path} has another object with the key ${key}`);
      into.set(key, object);
    }
  }

  #parsed(text: string, path: string): Iterable<T | undefined | null> {
    try {
      return this.#parse(text, path) ?? [];
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`${path}: ${why}`, { cause });
    }
  }
}

/** Whether this is a file, or a link to one. A link to nothing is like an absent file. */
async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
