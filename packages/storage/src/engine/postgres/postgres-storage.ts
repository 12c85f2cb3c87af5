import type { CommitHistory, CommitPage } from "../../feed/commit-history.ts";
import type { HistorySize, ResolvedHistory } from "../../feed/history-options.ts";
import type { CallOptions, StorageBackend } from "../../types.ts";
import { abortable } from "../abortable.ts";
import { EngineBackend } from "../engine-backend.ts";
import type { PostgresEngine } from "./postgres-engine.ts";

/** A store in PostgreSQL. */
export interface PostgresStorage extends StorageBackend, CommitHistory {
  /**
   * Forgets history beyond the bounds of the options now, rather than in the course of writing.
   * Watches of this instance are brought up to date before.
   */
  compactHistory(): Promise<void>;
  /** How much history there is for watches that resume. */
  historySize(options?: CallOptions): Promise<HistorySize>;
  /** What its writers forget history beyond. */
  historyBounds(options?: CallOptions): Promise<ResolvedHistory>;
  /** The clock of the server, in milliseconds since 1970: of now, not of the beginning of a transaction. */
  serverMs(options?: CallOptions): Promise<number>;
}

/** The engine with what only it can do. */
export class PostgresBackend extends EngineBackend implements PostgresStorage {
  readonly #engine: PostgresEngine;

  constructor(engine: PostgresEngine) {
    super(engine);
    this.#engine = engine;
  }

  async compactHistory(): Promise<void> {
    this.checkOpen();
    await this.#engine.compactHistory();
  }

  async historySize(options: CallOptions = {}): Promise<HistorySize> {
    this.checkOpen();
    return abortable(this.#engine.historySize(), options.signal);
  }

  async historyBounds(options: CallOptions = {}): Promise<ResolvedHistory> {
    this.checkOpen();
    return abortable(this.#engine.historyBounds(), options.signal);
  }

  async serverMs(options: CallOptions = {}): Promise<number> {
    this.checkOpen();
    return abortable(this.#engine.serverMs(), options.signal);
  }

  async readCommits(after: number, options: CallOptions = {}): Promise<CommitPage> {
    this.checkOpen();
    return abortable(this.#engine.readCommits(after), options.signal);
  }
}
