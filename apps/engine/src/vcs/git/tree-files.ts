import { posix } from "node:path";
import { ServerError } from "../../domain/server-error.ts";
import type { GitRepository, TreeEntry } from "./git-repository.ts";

/** A file of a tree under a path: its own, or that of a link which leads to it. */
export interface TreeFile {
  readonly path: string;
  /** The path that its content has in the tree. */
  readonly source: string;
  readonly executable: boolean;
  readonly blob: string;
  readonly size: number;
}

/** Bytes of the target of a link. */
const MAX_LINK_BYTES = 4_096;
/** Links one behind the other. */
const MAX_LINKS = 20;
/** Bytes of the targets of all links of a tree. */
const MAX_ALL_LINKS_BYTES = 16 * 1024 * 1024;
/** Links of one selection: each may lead to many files. */
const MAX_SELECTED_LINKS = 1_000;
/** Files of one selection, those behind links counted for each link. */
const MAX_SELECTED_FILES = 100_000;
/** Bytes of the files that are read as a whole at once: git packs gigabytes of the same byte into almost nothing. */
const MAX_READ_BYTES = 16 * 1024 * 1024;
/** Bytes that are read from git at once. */
const BATCH_BYTES = 16 * 1024 * 1024;
const BATCH_FILES = 1_000;

/** The files of a tree, with its links resolved inside of it. */
export class TreeFiles {
  readonly #repository: GitRepository;
  readonly #entries: ReadonlyMap<string, TreeEntry>;
  /** Targets of links, by their paths. */
  readonly #links: ReadonlyMap<string, string>;
  /** All paths in their order, so that those below a folder lie together. */
  readonly #sorted: readonly string[];
  /** Names of what lies directly in a folder. */
  readonly #names: ReadonlyMap<string, readonly string[]>;

  private constructor(
    repository: GitRepository,
    entries: ReadonlyMap<string, TreeEntry>,
    links: ReadonlyMap<string, string>,
  ) {
    this.#repository = repository;
    this.#entries = entries;
    this.#links = links;
    this.#sorted = [...entries.keys()].toSorted((a, b) => (a < b ? -1 : 1));
    const names = new Map<string, string[]>();
    for (const path of this.#sorted) {
      const end = path.lastIndexOf("/");
      const folder = end < 0 ? "" : path.slice(0, end);
      const known = names.get(folder);
      if (known === undefined) names.set(folder, [path.slice(end + 1)]);
      else known.push(path.slice(end + 1));
    }
    this.#names = names;
  }

  static async open(repository: GitRepository, tree: string): Promise<TreeFiles> {
    const entries = await repository.entries(tree);
    const links = entries.filter(({ kind, size }) => kind === "link" && size <= MAX_LINK_BYTES);
    const bytes = links.reduce((sum, { size }) => sum + size, 0);
    if (bytes > MAX_ALL_LINKS_BYTES) {
      throw new ServerError("unprocessable", "the links of the repository are too large");
    }
    const targets = await repository.blobs(
      links.map(({ blob }) => blob),
      bytes,
    );
    return new TreeFiles(
      repository,
      new Map(entries.map((entry) => [entry.path, entry])),
      new Map(links.map(({ path }, at) => [path, targets[at]?.toString("utf8") ?? ""])),
    );
  }

  /** Whether there is anything below a folder. */
  hasFolder(folder: string): boolean {
    if (folder === "") return this.#entries.size > 0;
    return !this.#below(this.#resolve(folder, 0)).next().done;
  }

  /** Names of the files directly in a folder, those of links among them. */
  names(folder: string): readonly string[] {
    return this.#names.get(folder === "" ? "" : this.#resolve(folder, 0)) ?? [];
  }

  /**
   * The files whose paths are chosen, sorted. A link is the file that it leads to, or those below the folder that it leads to.
   * `unprocessable` for links that lead nowhere or out of the repository.
   */
  select(isChosen: (path: string) => boolean): readonly TreeFile[] {
    return this.#files(this.#sorted.filter(isChosen));
  }

  #files(paths: Iterable<string>): readonly TreeFile[] {
    const found = new Map<string, TreeFile>();
    const add = (path: string, source: string): void => {
      const entry = this.#entries.get(source);
      if (entry === undefined || entry.kind === "submodule" || entry.kind === "link") return;
      const { blob, size } = entry;
      found.set(path, { path, source, executable: entry.kind === "program", blob, size });
      if (found.size > MAX_SELECTED_FILES) {
        const problem = `there are more than ${MAX_SELECTED_FILES} files, with those behind links`;
        throw new ServerError("unprocessable", problem);
      }
    };
    let links = 0;
    for (const path of paths) {
      if (this.#entries.get(path)?.kind !== "link") {
        add(path, path);
        continue;
      }
      links += 1;
      if (links > MAX_SELECTED_LINKS) {
        throw new ServerError("unprocessable", `there are more than ${MAX_SELECTED_LINKS} links`);
      }
      const target = this.#resolve(path, 0);
      const isNothing = !this.#entries.has(target) && this.#below(target).next().done === true;
      if (isNothing) {
        throw new ServerError("unprocessable", `the link ${path} leads to nothing`);
      }
      add(path, target);
      // A folder once: links in it are not followed further, so that no circle has an end.
      for (const other of this.#below(target)) add(path + other.slice(target.length), other);
    }
    return [...found.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** The content of single files, by their paths. `unprocessable` where they are too large to be read as a whole. */
  async read(paths: readonly string[]): Promise<ReadonlyMap<string, Buffer>> {
    const files = this.#files(new Set(paths));
    if (files.reduce((sum, { size }) => sum + size, 0) > MAX_READ_BYTES) {
      const [{ path }] = files.toSorted((a, b) => b.size - a.size) as [TreeFile];
      throw new ServerError(
        "unprocessable",
        `the configuration files of a module have more than ${MAX_READ_BYTES} bytes, the largest is ${path}`,
      );
    }
    const contents = new Map<string, Buffer>();
    for await (const { file, bytes } of this.contents(files)) contents.set(file.path, bytes);
    return contents;
  }

  /** Files with their contents, as many at once as fit. */
  async *contents(
    files: readonly TreeFile[],
  ): AsyncGenerator<{ readonly file: TreeFile; readonly bytes: Buffer }> {
    for (let at = 0; at < files.length; ) {
      const batch: TreeFile[] = [];
      let bytes = 0;
      for (const file of files.slice(at, at + BATCH_FILES)) {
        if (batch.length > 0 && bytes + file.size > BATCH_BYTES) break;
        batch.push(file);
        bytes += file.size;
      }
      const read = await this.#repository.blobs(
        batch.map(({ blob }) => blob),
        bytes,
      );
      for (const [index, file] of batch.entries()) {
        yield { file, bytes: read[index] ?? Buffer.alloc(0) };
      }
      at += batch.length;
    }
  }

  /** The paths below a folder. */
  *#below(folder: string): Generator<string, undefined> {
    const start = `${folder}/`;
    let from = 0;
    for (let to = this.#sorted.length; from < to; ) {
      const middle = (from + to) >> 1;
      if ((this.#sorted[middle] ?? "") < start) from = middle + 1;
      else to = middle;
    }
    for (let at = from; this.#sorted[at]?.startsWith(start) === true; at += 1) {
      yield this.#sorted[at] ?? "";
    }
    return undefined;
  }

  /** A path without links. */
  #resolve(path: string, depth: number): string {
    if (depth > MAX_LINKS) {
      throw new ServerError("unprocessable", `too many links lead to ${path}`);
    }
    const parts = path.split("/");
    for (let count = 1; count <= parts.length; count += 1) {
      const place = parts.slice(0, count).join("/");
      const target = this.#links.get(place);
      if (target === undefined) continue;
      const joined = posix.join(posix.dirname(place), target, ...parts.slice(count));
      const clean = joined.replace(/(?<!\/)\/+$/, "");
      if (target.startsWith("/") || clean === ".." || clean.startsWith("../")) {
        throw new ServerError("unprocessable", `the link ${place} leads out of the repository`);
      }
      return this.#resolve(clean, depth + 1);
    }
    return path;
  }
}
