import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";

/** Editors write several times in a row. */
const QUIET_MS = 150;
/** Data that a provider writes beside its code is no change of it. */
const CODE = /\.(?:[cm]?[jt]sx?|json|wasm|node)$/;
const TEST = /\.test\.[cm]?[jt]sx?$/;
/** Folders beyond this number are not watched. */
const MAX_FOLDERS = 500;

/** What a watch reports. */
interface WatchCodeOptions {
  /** Names of files that are code whatever they are called. */
  readonly programs: ReadonlySet<string>;
  readonly onChange: () => void;
  readonly onProblem: (error: unknown) => void;
}

/** Calls back after code in the folders, and in those below, has changed; once for changes that follow one another. */
export function watchCode(folders: readonly string[], options: WatchCodeOptions): Disposable {
  return new CodeWatch(folders, options);
}

/** A watcher for each folder: one of a whole tree loses a file that is replaced by another, as editors do it. */
class CodeWatch implements Disposable {
  readonly #roots: readonly string[];
  readonly #options: WatchCodeOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | undefined;

  constructor(roots: readonly string[], options: WatchCodeOptions) {
    this.#roots = roots;
    this.#options = options;
    this.#watch();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
  }

  #watch(): void {
    const wanted = new Set(foldersBelow(this.#roots));
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of wanted) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, (_event, name) => this.#seen(name));
        watcher.on("error", this.#options.onProblem);
        this.#watchers.set(folder, watcher);
      } catch (error) {
        this.#options.onProblem(error);
      }
    }
  }

  #seen(name: string | null): void {
    const { programs, onChange } = this.#options;
    const isCode = name === null || programs.has(name) || (CODE.test(name) && !TEST.test(name));
    // A name without an extension may be a folder that was added.
    if (!isCode && name.includes(".")) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const before = this.#watchers.size;
      this.#watch();
      if (isCode || this.#watchers.size !== before) onChange();
    }, QUIET_MS);
  }
}

function foldersBelow(roots: readonly string[]): readonly string[] {
  const found: string[] = [];
  const pending = [...roots];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    if (found.length >= MAX_FOLDERS) break;
    found.push(folder);
    try {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const isSkipped = entry.name === "node_modules" || entry.name.startsWith(".");
        if (entry.isDirectory() && !isSkipped) pending.push(join(folder, entry.name));
      }
    } catch {
      // A folder that is gone is watched no longer.
    }
  }
  return found;
}
