import { readFile, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import type { CollectionOptions, Singleton } from "../collection.ts";
import { CellNode } from "../core/cell-node.ts";
import type { Owner } from "../core/scope.ts";
import { type Kind, type KindCapability, kind, singletonKey } from "../kind.ts";
import type { Scope } from "../scope.ts";
import { ownerOf } from "../scope-handle.ts";
import { firstReading, followFiles } from "./follow-files.ts";
import type { ReadCycle, Rereader, WatchFilesOptions } from "./rereader.ts";

/** Options of {@link watchFile}. */
export interface FileOptions<T, Tr extends KindCapability>
  extends CollectionOptions,
    WatchFilesOptions {
  readonly kind?: Kind<T, Tr>;
}

/** Makes a value of the text of a file. Nothing means that there is no value. */
export type ParseFile<T> = (text: string, path: string) => T | undefined | null;

/** The value in a file. */
export interface FileSingleton<T, Tr extends KindCapability = never> extends Singleton<T, Tr> {
  /** Reads the file now. Rejects with `KRT_SOURCE`, and keeps the value, where that fails. */
  resync(): Promise<void>;
}

/**
 * A singleton of the value in a file, which follows the file. A reading that fails, because the file is
 * gone or its text cannot be parsed, keeps the value and is reported as `KRT_SOURCE`. Replacing the file
 * by renaming is noticed, also where the path is a link.
 *
 * Resolves when the first reading is in, so that the singleton is synced; rejects with `KRT_SOURCE` when
 * that fails. Disposing the singleton ends the watching.
 */
export async function watchFile<T, Tr extends KindCapability = never>(
  scope: Scope,
  path: string,
  parse: ParseFile<T>,
  options: FileOptions<T, Tr> = {},
): Promise<FileSingleton<T, Tr>> {
  const owner = ownerOf(scope);
  const node = new FileNode<T>(owner, path, parse, options);
  owner.graph.construct(node, () => node.init(undefined, false));
  return firstReading(node);
}

class FileNode<T> extends CellNode<T> implements FileSingleton<T> {
  readonly #path: string;
  readonly #parse: ParseFile<T>;
  readonly #rereader: Rereader;

  constructor(owner: Owner, path: string, parse: ParseFile<T>, options: FileOptions<T, never>) {
    super(owner, options.kind ?? kind<T>()({ key: singletonKey }), options);
    this.#path = path;
    this.#parse = parse;
    this.#rereader = followFiles(this, options, {
      what: () => this.#path,
      debounceMs: 100,
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
    // The folder is watched and not the file: a watched file that is replaced is never heard of again.
    cycle.watch(dirname(this.#path));
    const folder = dirname(await realpath(this.#path));
    if (folder !== dirname(this.#path)) cycle.watch(folder);
    const value = this.#parse(await readFile(this.#path, "utf8"), this.#path);
    if (this.disposed) return;
    this.set(value ?? undefined);
    this.markSynced();
  }
}
