import { existsSync, type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A writer commits many times in a row. */
const QUIET_MS = 100;
/** The index of the log, which readers write as well. */
const OF_READERS = /-shm$/;

/** The folder of an embedded store, which need not exist yet, as the file system says that something was written to it. */
export class StoreFolder implements Disposable {
  readonly #directory: string;
  #watcher: FSWatcher | undefined;
  /** The folder that is watched: that of the store, or the nearest one around it that exists. */
  #watched = "";
  #woken = Promise.withResolvers<void>();
  /** What the folder had when it was last said to be written; undefined before that. */
  #content: string | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Resolves when files of the store are others than at the call before, with the first call at once. Rejects with the signal, and where the
   * system watches no more folders.
   */
  async written(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      this.#follow();
      const content = this.#read();
      if (content !== this.#content) {
        this.#content = content;
        return;
      }
      await this.#next(signal);
      await delay(QUIET_MS, undefined, { signal });
    }
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
  }

  /** Watches the nearest folder. What is made between the question and the watch is asked for again. */
  #follow(): void {
    for (;;) {
      const nearest = nearestFolder(this.#directory);
      if (nearest === this.#watched) return;
      this.#watcher?.close();
      this.#watched = nearest;
      const gone = (): void => {
        // One that is made again under the same name is another one.
        this.#watched = "";
        this.#woken.resolve();
      };
      try {
        this.#watcher = watch(nearest, (event, name) => {
          if (event === "rename" && name === basename(nearest)) gone();
          else this.#woken.resolve();
        }).on("error", gone);
      } catch (error) {
        this.#watched = "";
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    }
  }

  async #next(signal: AbortSignal): Promise<void> {
    const abort = (): void => this.#woken.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      signal.throwIfAborted();
      await this.#woken.promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
    this.#woken = Promise.withResolvers();
  }

  /** Names, sizes and times of what is written there; files that are empty are as good as none. */
  #read(): string {
    let names: string[];
    try {
      names = readdirSync(this.#directory);
    } catch {
      return "";
    }
    const files = names.toSorted().flatMap((name) => {
      if (OF_READERS.test(name)) return [];
      const found = statSync(join(this.#directory, name), { throwIfNoEntry: false });
      return found?.isFile() !== true || found.size === 0
        ? []
        : [`${name} ${found.size} ${found.mtimeMs}`];
    });
    return files.join("\n");
  }
}

function nearestFolder(directory: string): string {
  let folder = directory;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
