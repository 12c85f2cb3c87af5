import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Configuration, Plan } from "@stackwright/core";
import type { ModuleNode } from "@stackwright/lang";
import type { Project } from "./project.ts";

/** Editors write a file in several steps, and users save several files at once. */
const QUIET_MS = 60;
/** What a folder of configuration consists of. */
const CONFIGURATION =
  /\.(?:tf|tofu|tfvars)(?:\.json)?$|^\.terraform\.lock\.hcl$|^stackwright\.providers\.json$/;

/** The files that a plan was made from: configuration and values in the folders of its modules, and what functions read. */
export class WatchedFiles implements Disposable {
  #watchers: FSWatcher[] = [];
  readonly #changed = new Set<string>();
  #wake: (() => void) | undefined;

  /** Watches what a plan of a project is made from; `reads` is what functions read. What changed before stays known. */
  follow(project: Project, reads: Plan["files"] = []): void {
    const { directory } = project;
    const names = new Map<string, Set<string>>([[directory, new Set()]]);
    for (const folder of localFolders(project)) names.set(folder, new Set());
    for (const { path } of reads) {
      const at = resolve(directory, path);
      const known = names.get(dirname(at)) ?? new Set();
      names.set(dirname(at), known.add(basename(at)));
    }
    const former = this.#watchers;
    this.#watchers = [];
    for (const [folder, wanted] of names) this.#watch(folder, wanted);
    for (const watcher of former) watcher.close();
  }

  #watch(folder: string, wanted: ReadonlySet<string>): void {
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name === null || !(CONFIGURATION.test(name) || wanted.has(name))) return;
        this.#changed.add(name);
        this.#wake?.();
      });
      // A folder that goes away is found missing by the next plan.
      watcher.on("error", () => this.#wake?.());
      this.#watchers.push(watcher);
    } catch {
      // A folder of a file that is not there yet.
    }
  }

  /** Resolves with the names of the files that changed, when they have been quiet for a moment. Rejects with the signal. */
  async changed(signal: AbortSignal): Promise<readonly string[]> {
    const woken = Promise.withResolvers<void>();
    this.#wake = woken.resolve;
    const abort = (): void => woken.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      signal.throwIfAborted();
      if (this.#changed.size === 0) await woken.promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
    for (let count = -1; count !== this.#changed.size; ) {
      count = this.#changed.size;
      await delay(QUIET_MS, undefined, { signal });
    }
    const names = [...this.#changed].toSorted();
    this.#changed.clear();
    return names;
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers) watcher.close();
  }
}

/** Folders of the modules that are called by a local path: what is installed does not change. */
function localFolders({ directory, files, configuration }: Project): readonly string[] {
  return [...modulesOf(configuration)]
    .filter((node) => node.files === files && node.packageFolder === undefined)
    .map(({ folder }) => join(directory, folder));
}

function* modulesOf({ root }: Pick<Configuration, "root">): Generator<ModuleNode> {
  const open = [root];
  // Grows while it is walked.
  for (const node of open) {
    yield node;
    open.push(...node.children.values());
  }
}
