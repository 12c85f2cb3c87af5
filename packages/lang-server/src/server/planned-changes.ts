import { dirname, sep } from "node:path";
import type { Clock } from "@stackwright/base/clock";
import type { PlannedChange } from "../features/planned-hints.ts";
import type { Workspace } from "../index/workspace.ts";
import type { FolderPlan } from "./folder-plan.ts";
import type { LanguageHost } from "./language-host.ts";

/** A plan of a folder takes at most that long: others wait for it. */
const PLAN_TIMEOUT_MS = 120_000;
/** Files of tests, which no plan reads. */
const OF_TESTS = /\.(?:tftest|tofutest|tfmock)\.(?:hcl|json)$/;

/** What planning needs. */
interface PlannedChangesOptions {
  readonly clock: Clock;
  readonly workspace: Workspace;
  readonly plan: Required<LanguageHost>["plan"];
  /** The changes of a folder are others now. */
  readonly onChanged: () => void;
  readonly onError: (error: unknown) => void;
}

interface PlannedFolder {
  /** The folders of its module and of the modules that it uses. */
  readonly parts: ReadonlySet<string>;
  /** Undefined until the plan is there, and once its state is another one. */
  changes?: readonly PlannedChange[] | undefined;
  /** Ends the wait for another state than that of the plan. */
  following?: AbortController | undefined;
}

/**
 * What the last plan of each folder would do, as long as text and state are those that were planned. A root module is planned after a save of its
 * files or of those of a module that it uses, one folder at a time, where nothing of it is unsaved: a plan reads the disk. A change of any of
 * these files ends its plan and drops what is known, and a further save takes the place of one that waits.
 */
export class PlannedChanges implements AsyncDisposable {
  readonly #options: PlannedChangesOptions;
  readonly #folders = new Map<string, PlannedFolder>();
  /** Open files whose text may be another one than that on the disk. */
  readonly #touched = new Set<string>();
  readonly #waiting = new Set<string>();
  readonly #end = new AbortController();
  #running: { readonly folder: string; readonly abort: AbortController } | undefined;
  #work: Promise<void> | undefined;
  /** The waits for other states. */
  readonly #followed = new Set<Promise<void>>();

  constructor(options: PlannedChangesOptions) {
    this.#options = options;
  }

  /** The changes of a folder; none where nothing is known. */
  of(folder: string): readonly PlannedChange[] {
    return this.#folders.get(folder)?.changes ?? [];
  }

  /** A file was opened. Editors open some with a text that was never saved, which is a change. */
  opened(path: string): void {
    if (!this.#options.workspace.isAsOnDisk(path)) this.changed(path);
  }

  /** The text of a file was changed: what was planned is not what the text says. */
  changed(path: string): void {
    this.#touched.add(path);
    const folder = dirname(path);
    this.#drop((_, { parts }) => parts.has(folder));
  }

  closed(path: string): void {
    this.#touched.delete(path);
  }

  /** A file was saved: the roots that use its module are planned, as far as they are in view. */
  saved(path: string): void {
    this.#touched.delete(path);
    this.plan(dirname(path));
  }

  /** Plans the roots that use the module of a folder, as far as files of them are open and nothing of them is unsaved. */
  plan(folder: string): void {
    const { workspace } = this.#options;
    const inView = new Set([...workspace.openFiles.keys()].map((open) => dirname(open)));
    for (const root of workspace.rootsOf(folder)) {
      if (!inView.has(root) || !workspace.hasConfiguration(root)) continue;
      const parts = workspace.partsOf(root);
      if ([...parts].some((part) => this.#isUnsaved(part))) continue;
      this.#stop(root);
      this.#folders.set(root, { ...this.#folders.get(root), parts });
      this.#waiting.add(root);
    }
    if (this.#waiting.size === 0) return;
    this.#work ??= this.#planAll().finally(() => {
      this.#work = undefined;
    });
  }

  /** A file was changed, made or deleted on the disk. A save of the editor is reported as that, too. */
  changedOnDisk(path: string): void {
    const { workspace } = this.#options;
    if (OF_TESTS.test(path) || (workspace.isOpen(path) && workspace.isAsOnDisk(path))) return;
    const folder = dirname(path);
    this.#drop((_, { parts }) => [...parts].some((part) => isWithin(folder, part)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the language server has ended"));
    await Promise.all([this.#work, ...this.#followed]);
  }

  #isUnsaved(folder: string): boolean {
    return [...this.#touched].some(
      (path) => dirname(path) === folder && !this.#options.workspace.isAsOnDisk(path),
    );
  }

  #drop(isOutdated: (folder: string, planned: PlannedFolder) => boolean): void {
    let isShown = false;
    for (const [folder, planned] of this.#folders) {
      if (!isOutdated(folder, planned)) continue;
      this.#waiting.delete(folder);
      this.#stop(folder);
      planned.following?.abort(new Error("the folder was changed"));
      this.#folders.delete(folder);
      isShown ||= planned.changes !== undefined;
    }
    if (isShown) this.#options.onChanged();
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
    const fail = (error: unknown): void => {
      this.#drop((each) => each === folder);
      onError(error);
    };
    using _deadline = clock.after(PLAN_TIMEOUT_MS, () => {
      if (abort.signal.aborted) return;
      const late = new Error(`The plan of "${folder}" took longer than ${PLAN_TIMEOUT_MS} ms.`);
      abort.abort(late);
      fail(late);
    });
    this.#running = { folder, abort };
    try {
      const found = await plan(folder, AbortSignal.any([this.#end.signal, abort.signal]));
      const planned = this.#folders.get(folder);
      if (abort.signal.aborted || planned === undefined) return;
      planned.changes = found.changes;
      this.#follow(folder, planned, found.outdated);
      onChanged();
    } catch (error) {
      if (!this.#end.signal.aborted && !abort.signal.aborted) fail(error);
    } finally {
      this.#running = undefined;
    }
  }

  /** Forgets what is known of a folder once its plan is one of a former state. A plan that is being made meanwhile is one of its own state. */
  #follow(folder: string, planned: PlannedFolder, outdated: FolderPlan["outdated"]): void {
    planned.following?.abort(new Error("the folder was planned again"));
    planned.following = undefined;
    if (outdated === undefined) return;
    const following = new AbortController();
    planned.following = following;
    const signal = AbortSignal.any([this.#end.signal, following.signal]);
    const wait = async (): Promise<void> => {
      try {
        await outdated(signal);
        const now = this.#folders.get(folder);
        if (signal.aborted || now?.following !== following) return;
        now.changes = undefined;
        now.following = undefined;
        this.#options.onChanged();
      } catch (error) {
        if (!signal.aborted) this.#options.onError(error);
      }
    };
    const waiting: Promise<void> = wait().finally(() => this.#followed.delete(waiting));
    this.#followed.add(waiting);
  }
}

function isWithin(folder: string, around: string): boolean {
  return folder === around || folder.startsWith(around.endsWith(sep) ? around : around + sep);
}
