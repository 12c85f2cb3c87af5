import { dirname } from "node:path";
import type { Clock } from "@stackwright/base/clock";
import type { PlannedChange } from "../features/planned-hints.ts";
import type { LanguageHost } from "./language-host.ts";

/** A plan of a folder takes at most that long: others wait for it. */
const PLAN_TIMEOUT_MS = 120_000;

/** What planning needs. */
interface PlannedChangesOptions {
  readonly clock: Clock;
  readonly plan: Required<LanguageHost>["plan"];
  /** The changes of a folder are others now. */
  readonly onChanged: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * What the last plan of each folder would do, as long as the text is the one that was planned. A folder is planned after a save, one folder
 * at a time; a change of it ends its plan, and a further save takes the place of one that waits.
 */
export class PlannedChanges implements AsyncDisposable {
  readonly #options: PlannedChangesOptions;
  readonly #changes = new Map<string, readonly PlannedChange[]>();
  readonly #waiting = new Set<string>();
  readonly #end = new AbortController();
  #running: { readonly folder: string; readonly abort: AbortController } | undefined;
  #work: Promise<void> | undefined;

  constructor(options: PlannedChangesOptions) {
    this.#options = options;
  }

  /** The changes of a folder; none where nothing is known. */
  of(folder: string): readonly PlannedChange[] {
    return this.#changes.get(folder) ?? [];
  }

  /** A file was saved: its folder is planned. */
  saved(path: string): void {
    const folder = dirname(path);
    this.#stop(folder);
    this.#waiting.add(folder);
    this.#work ??= this.#planAll().finally(() => {
      this.#work = undefined;
    });
  }

  /** A file was changed: what was planned is not what the text says. */
  changed(path: string): void {
    const folder = dirname(path);
    this.#waiting.delete(folder);
    this.#stop(folder);
    if (this.#changes.delete(folder)) this.#options.onChanged();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the language server has ended"));
    await this.#work;
  }

  #stop(folder: string): void {
    if (this.#running?.folder !== folder) return;
    this.#running.abort.abort(new Error("the folder was changed"));
  }

  async #planAll(): Promise<void> {
    for (;;) {
      const [folder] = this.#waiting;
      if (folder === undefined || this.#end.signal.aborted) return;
      this.#waiting.delete(folder);
      await this.#planFolder(folder);
    }
  }

  async #planFolder(folder: string): Promise<void> {
    const { clock, plan, onChanged, onError } = this.#options;
    const abort = new AbortController();
    using _deadline = clock.after(PLAN_TIMEOUT_MS, () =>
      abort.abort(new Error("the plan took too long")),
    );
    this.#running = { folder, abort };
    try {
      const found = await plan(folder, AbortSignal.any([this.#end.signal, abort.signal]));
      if (abort.signal.aborted) return;
      this.#changes.set(folder, found);
      onChanged();
    } catch (error) {
      if (!this.#end.signal.aborted && !abort.signal.aborted) onError(error);
    } finally {
      this.#running = undefined;
    }
  }
}
