import { dirname } from "node:path";
import type { Clock } from "@stackwright/base/clock";
import type { Diagnostic } from "@stackwright/lang";
import type { Diagnostic as ProtocolDiagnostic } from "vscode-languageserver-protocol";
import { checkFolder, problemsByFile } from "../features/diagnostics.ts";
import type { FeatureContext } from "../features/feature-context.ts";
import type { LanguageHost } from "./language-host.ts";

/** A check begins when nothing was typed for that long, in milliseconds. */
const QUIET_MS = 300;
/** Providers answer within that time: the checks of all folders wait for them. */
const VALIDATE_TIMEOUT_MS = 60_000;

interface FolderState {
  /** Counts changes: the result of a check is dropped where the folder has changed meanwhile. */
  revision: number;
  timer?: Disposable;
  /** Paths whose problems the client shows. */
  shown: ReadonlySet<string>;
  /** What the last check with providers found, as long as nothing has changed since. */
  validated: readonly Diagnostic[];
}

/** What checks need. */
interface FolderChecksOptions {
  readonly clock: Clock;
  readonly host: LanguageHost;
  readonly context: () => FeatureContext;
  readonly publish: (path: string, diagnostics: readonly ProtocolDiagnostic[]) => void;
  /** The schemas of a folder, when they have been read. */
  readonly onSchemas: (folder: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/**
 * Keeps the problems that the client shows those of the present text.
 *
 * Checks of all folders are done one after the other. One that became outdated while it waited or ran publishes nothing: the
 * change that outdated it has asked for another.
 */
export class FolderChecks implements AsyncDisposable {
  readonly #options: FolderChecksOptions;
  readonly #folders = new Map<string, FolderState>();
  readonly #end = new AbortController();
  #work: Promise<void> = Promise.resolve();

  constructor(options: FolderChecksOptions) {
    this.#options = options;
  }

  /** A file was opened or changed: its folder is checked soon. */
  changed(path: string): void {
    const folder = dirname(path);
    const state = this.#state(folder);
    state.revision++;
    state.validated = [];
    state.timer?.[Symbol.dispose]();
    state.timer = this.#options.clock.after(QUIET_MS, () => {
      this.#queue(() => this.#check(folder));
    });
  }

  /** A file was opened or saved: schemas are read, and providers are asked after a save. */
  saved(path: string, withProviders: boolean): void {
    const folder = dirname(path);
    this.#queue(async () => {
      await this.#options.onSchemas(folder);
      await this.#check(folder);
      const state = this.#folders.get(folder);
      const { validate } = this.#options.host;
      if (!withProviders || validate === undefined || state === undefined) return;
      const { revision } = state;
      const late = new AbortController();
      using _deadline = this.#options.clock.after(VALIDATE_TIMEOUT_MS, () =>
        late.abort(new Error("the providers did not answer in time")),
      );
      const found = await validate(folder, AbortSignal.any([this.#end.signal, late.signal]));
      if (state.revision !== revision || this.#folders.get(folder) !== state) return;
      state.validated = found;
      await this.#check(folder);
    });
  }

  /** All files of the folder are closed: its problems are shown no longer. */
  forget(folder: string): void {
    const state = this.#folders.get(folder);
    if (state === undefined) return;
    state.timer?.[Symbol.dispose]();
    for (const path of state.shown) this.#options.publish(path, []);
    this.#folders.delete(folder);
  }

  /** The problems of a folder as it is now. */
  async problems(folder: string): Promise<Map<string, ProtocolDiagnostic[]>> {
    const { host, context } = this.#options;
    const { workspace } = context();
    const found = await checkFolder(context(), folder, host.packages?.(folder));
    const validated = this.#folders.get(folder)?.validated ?? [];
    return problemsByFile(folder, [...found, ...validated], (path) => workspace.text(path));
  }

  async #check(folder: string): Promise<void> {
    const state = this.#folders.get(folder);
    if (state === undefined) return;
    const { revision } = state;
    const found = await this.problems(folder);
    if (state.revision !== revision || this.#folders.get(folder) !== state) return;
    for (const path of state.shown) if (!found.has(path)) this.#options.publish(path, []);
    for (const [path, diagnostics] of found) this.#options.publish(path, diagnostics);
    state.shown = new Set(found.keys());
  }

  #state(folder: string): FolderState {
    const known = this.#folders.get(folder);
    if (known !== undefined) return known;
    const state: FolderState = { revision: 0, shown: new Set(), validated: [] };
    this.#folders.set(folder, state);
    return state;
  }

  #queue(task: () => Promise<void>): void {
    this.#work = this.#inTurn(this.#work, task);
  }

  async #inTurn(before: Promise<void>, task: () => Promise<void>): Promise<void> {
    await before;
    if (this.#end.signal.aborted) return;
    try {
      await task();
    } catch (error) {
      if (!this.#end.signal.aborted) this.#options.onError(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the language server has ended"));
    for (const { timer } of this.#folders.values()) timer?.[Symbol.dispose]();
    await this.#work;
  }
}
