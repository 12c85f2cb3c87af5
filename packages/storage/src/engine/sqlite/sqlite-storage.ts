import type { CommitHistory, CommitPage } from "../../feed/commit-history.ts";
import type { HistorySize, ResolvedHistory } from "../../feed/history-options.ts";
import type { CallOptions, StorageBackend } from "../../types.ts";
import { abortable } from "../abortable.ts";
import { EngineBackend } from "../engine-backend.ts";
import type { SqliteEngine } from "./sqlite-engine.ts";

/** A store in an SQLite database. */
export interface SqliteStorage extends StorageBackend, CommitHistory {
  /**
   * Copies the store to a new file while it is in use; put the file into a directory of its own as
   * `store.db` to open it. The copy is a line of its own: cursors do not carry over.
   */
  backup(path: string): Promise<void>;
  /** Drops all history but the newest `keep` commits. Watches that are open are not concerned. */
  compactHistory(keep: number): Promise<void>;
  /** How much history there is for watches that resume. */
  historySize(options?: CallOptions): Promise<HistorySize>;
  /** What its writers forget history beyond. */
  historyBounds(options?: CallOptions): Promise<ResolvedHistory>;
}

/** The engine with what only it can do. */
export class SqliteBackend extends EngineBackend implements SqliteStorage {
  readonly #engine: SqliteEngine;

  constructor(engine: SqliteEngine) {
    super(engine);
    this.#engine = engine;
  }

  async backup(path: string): Promise<void> {
    this.checkOpen();
    await this.#engine.backup(path);
  }

  async compactHistory(keep: number): Promise<void> {
    this.checkOpen();
    await this.#engine.compactHistory(keep);
  }

  async historySize(options: CallOptions = {}): Promise<HistorySize> {
    this.checkOpen();
    return abortable(this.#engine.historySize(), options.signal);
  }

  async historyBounds(options: CallOptions = {}): Promise<ResolvedHistory> {
    this.checkOpen();
    return abortable(this.#engine.historyBounds(), options.signal);
  }

  async readCommits(after: number, options: CallOptions = {}): Promise<CommitPage> {
    this.checkOpen();
    return abortable(this.#engine.readCommits(after), options.signal);
  }
}
