import { type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import type { RuntimeFunction } from "./function-definition.ts";
import { type FunctionsFile, readFunctionsFile } from "./functions-file.ts";
import type { FunctionsServer } from "./functions-server.ts";

/** The events of a watch. */
export interface FunctionsWatchEvents {
  /** New invocations of the function run the current code; instances of the previous code have ended. */
  readonly onDeployed?: (urn: string, why: "added" | "changed" | "removed") => void;
  /** The file cannot be used as it is; what was deployed stays. */
  readonly onProblem?: (error: unknown) => void;
}

/** Ends with its disposal; resolves when no deployment is in progress. */
export type FunctionsWatch = AsyncDisposable;

/** Editors write several times in a row. */
const QUIET_MS = 150;
/** Which files are code: data that a provider writes next to it must not end its instances. */
const CODE = /\.(?:[cm]?[jt]sx?|py|rb|sh)$|^bootstrap$/;

/**
 * Keeps a runtime equal to a file of functions while both are edited: functions are added, replaced and removed with
 * the file, and redeployed when code changes in their folder, which is `directory`, or the folder of a file among the
 * arguments of `command`.
 */
export function watchFunctions(
  path: string,
  first: Pick<FunctionsFile, "functions">,
  server: Pick<FunctionsServer, "deploy" | "remove">,
  events: FunctionsWatchEvents = {},
): FunctionsWatch {
  const watch = new Watch(resolve(path), server, events);
  watch.begin(first.functions);
  return watch;
}

class Watch implements AsyncDisposable {
  readonly #path: string;
  readonly #server: Pick<FunctionsServer, "deploy" | "remove">;
  readonly #events: FunctionsWatchEvents;
  readonly #watchers = new Map<string, FSWatcher>();
  /** Folders in which code has changed. */
  readonly #dirty = new Set<string>();
  #known = new Map<string, RuntimeFunction>();
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(
    path: string,
    server: Pick<FunctionsServer, "deploy" | "remove">,
    events: FunctionsWatchEvents,
  ) {
    this.#path = path;
    this.#server = server;
    this.#events = events;
  }

  begin(functions: readonly RuntimeFunction[]): void {
    this.#known = byUrn(functions);
    this.#watchFolders();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    await this.#work;
  }

  /** Watches the folders of the file and of all code; no others. */
  #watchFolders(): void {
    const wanted = new Set([dirname(this.#path), ...[...this.#known.values()].flatMap(foldersOf)]);
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of wanted) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, (_event, name) => {
          this.#seen(folder, name ?? "");
        });
        watcher.on("error", (error) => this.#events.onProblem?.(error));
        this.#watchers.set(folder, watcher);
      } catch (error) {
        this.#events.onProblem?.(error);
      }
    }
  }

  #seen(folder: string, name: string): void {
    const isFile = folder === dirname(this.#path) && name === basename(this.#path);
    if (this.#ended || !(isFile || CODE.test(name))) return;
    if (!isFile) this.#dirty.add(folder);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#work = this.#work.then(async () => this.#deploy());
    }, QUIET_MS);
  }

  async #deploy(): Promise<void> {
    const dirty = new Set(this.#dirty);
    this.#dirty.clear();
    try {
      const { functions } = await readFunctionsFile(this.#path);
      const now = byUrn(functions);
      for (const [urn, definition] of now) {
        const before = this.#known.get(urn);
        const same = before !== undefined && JSON.stringify(before) === JSON.stringify(definition);
        if (same && !foldersOf(definition).some((folder) => dirty.has(folder))) continue;
        await this.#server.deploy(definition);
        this.#known.set(urn, definition);
        this.#events.onDeployed?.(urn, before === undefined ? "added" : "changed");
      }
      for (const urn of [...this.#known.keys()].filter((known) => !now.has(known))) {
        await this.#server.remove(urn);
        this.#known.delete(urn);
        this.#events.onDeployed?.(urn, "removed");
      }
      if (!this.#ended) this.#watchFolders();
    } catch (error) {
      this.#events.onProblem?.(error);
    }
  }
}

function byUrn(functions: readonly RuntimeFunction[]): Map<string, RuntimeFunction> {
  return new Map(functions.map((definition) => [definition.urn, definition]));
}

/** The folders of the code of a function, as far as its definition names them. */
function foldersOf({ code }: RuntimeFunction): string[] {
  if ("handle" in code) return [];
  if ("directory" in code) return [resolve(code.directory)];
  const [, ...args] = code.command;
  return args.flatMap((word) => {
    const file = resolve(code.cwd ?? ".", word);
    return statSync(file, { throwIfNoEntry: false })?.isFile() === true ? [dirname(file)] : [];
  });
}
