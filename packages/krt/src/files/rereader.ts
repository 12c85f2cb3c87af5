import { type FSWatcher, watch } from "node:fs";
import type { Scheduler } from "../scheduler.ts";

/** Options of everything that follows files. */
export interface WatchFilesOptions {
  /**
   * Milliseconds without changes after which files are read. Under changes that do not end they are read
   * every tenth of such pauses nevertheless.
   * @default 250 for folders, 100 for files
   */
  readonly debounceMs?: number;
  /**
   * Milliseconds after which files are read even if no change was noticed: notifications get lost on
   * network file systems and under load. `Infinity` switches it off.
   * @default 30000
   */
  readonly resyncMs?: number;
  /**
   * Whether watching keeps the process alive.
   * @default false
   */
  readonly persistent?: boolean;
}

interface RereaderOptions {
  readonly scheduler: Scheduler;
  readonly debounceMs: number;
  readonly resyncMs: number;
  readonly persistent: boolean;
  /** Reads everything. Directories it passes to {@link Rereader.watch} are watched from then on. */
  readonly read: (cycle: ReadCycle) => Promise<void>;
}

/** What one reading has to do with the watches. */
export interface ReadCycle {
  /**
   * Sees to it that changes in this directory are noticed. To be called before the directory is read, so
   * that nothing falls between. Directories that a complete reading did not name are no longer watched.
   */
  watch(directory: string): void;
}

/** Debounces that pass before changes that do not end are read all the same. */
const MAX_PUT_OFF = 10;

/**
 * Reads again whenever something changed, one reading at a time.
 *
 * Invariants until `close`: a change noticed while a reading is under way leads to another one after it.
 * A timer for the next reading is set or a reading is under way. The watched directories are those of
 * the last complete reading, and those that readings since then have named.
 */
export class Rereader {
  readonly #options: RereaderOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  #cancelTimer: (() => void) | undefined;
  /** When the changes that are being put off began. */
  #changedAt: number | undefined;
  #reading: Promise<void> | undefined;
  #closed = false;

  constructor(options: RereaderOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Directories that are watched now. */
  get watched(): number {
    return this.#watchers.size;
  }

  /** Reads now, after the reading that is under way. Rejects with what `read` throws. */
  async readNow(): Promise<void> {
    while (this.#reading !== undefined) await this.#reading.catch(() => {});
    if (this.#closed) return;
    this.#cancelTimer?.();
    this.#changedAt = undefined;
    this.#reading = this.#read();
    try {
      await this.#reading;
    } finally {
      this.#reading = undefined;
      this.#schedule();
    }
  }

  async #read(): Promise<void> {
    const named = new Set<string>();
    await this.#options.read({
      watch: (directory) => {
        named.add(directory);
        this.#watch(directory);
      },
    });
    for (const [directory, watcher] of this.#watchers) {
      if (named.has(directory)) continue;
      watcher.close();
      this.#watchers.delete(directory);
    }
  }

  #watch(directory: string): void {
    if (this.#closed || this.#watchers.has(directory)) return;
    const { persistent } = this.#options;
    const watcher = watch(directory, { persistent }, () => this.#noticeChange());
    const drop = (): void => {
      watcher.close();
      if (this.#watchers.get(directory) === watcher) this.#watchers.delete(directory);
      this.#noticeChange();
    };
    watcher.on("error", drop);
    this.#watchers.set(directory, watcher);
  }

  #noticeChange(): void {
    this.#changedAt ??= this.#options.scheduler.now();
    if (this.#reading === undefined) this.#schedule();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const { scheduler, debounceMs, resyncMs } = this.#options;
    let wait = resyncMs;
    if (this.#changedAt !== undefined) {
      const left = this.#changedAt + debounceMs * MAX_PUT_OFF - scheduler.now();
      wait = Math.max(0, Math.min(debounceMs, left, resyncMs));
    }
    if (wait === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = scheduler.delay(wait, () => {
      // The reader reports its failures; here they only must not end the cycle.
      this.readNow().catch(() => {});
    });
  }

  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
