import type { DatabaseSync, StatementSync } from "node:sqlite";
import { StorageError } from "../../errors.ts";
import type { HistorySize, ResolvedHistory } from "../../feed/history-options.ts";
import {
  checkDeletePreconditions,
  checkWritePreconditions,
  guardHolds,
  type StoredHead,
} from "../../preconditions.ts";
import { describeDamage } from "./damage.ts";
import {
  type BodyRow,
  type GuardRow,
  isSingleWrite,
  isWriteRow,
  type StepResult,
  type WriteOutcome,
  type WriteRequest,
  type WriteRow,
  type WriteStep,
} from "./protocol.ts";
import { firstOfNewLine } from "./store-line.ts";
import { releaseLogSpace } from "./write-ahead-log.ts";

/** Numbers of the operations in the event table. */
export const UPSERT = 1;
const DELETE = 2;

/** Rows of history that are cut off at a time, so that the cost is spread over as many writes. */
const COMPACTION_STEP = 512;

/** A clock that was set back by less than this is waited for: until then commits have the time of the last one. */
const CLOCK_SLACK_MS = 60_000;

// Group commit: all requests that came in while the last group was being written and synced become
// one transaction, so a sync is shared by as many writers as there are. Requests are judged one
// after the other against what the ones before them in the group have written. A request judges all
// of its steps before it applies one; a refused one leaves no trace and does not disturb the group.
// When the transaction cannot be committed, no request of the group has happened.

/** Applies groups of write requests, and keeps revisions and history. */
export class GroupWriter {
  readonly #database: DatabaseSync;
  readonly #bounds: ResolvedHistory;
  readonly #head: StatementSync;
  readonly #row: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #remove: StatementSync;
  readonly #event: StatementSync;
  readonly #sizes: StatementSync;
  readonly #times: StatementSync;
  readonly #position: StatementSync;
  #revision: number;
  #compacted: number;
  #historyBytes: number;
  /** The time of the newest commit, and of the group that is being written. */
  #newestMs: number;

  constructor(database: DatabaseSync, bounds: ResolvedHistory) {
    this.#database = database;
    this.#bounds = bounds;
    this.#head = database.prepare("SELECT uid, version FROM resource WHERE key = ?");
    this.#row = database.prepare("SELECT version, body, checksum FROM resource WHERE key = ?");
    this.#insert = database.prepare(
      "INSERT INTO resource (key, uid, version, owner, body, checksum) VALUES (?, ?, ?, ?, ?, ?)",
    );
    this.#update = database.prepare(
      "UPDATE resource SET version = ?, owner = ?, body = ?, checksum = ? " +
        "WHERE key = ? AND uid = ? AND version = ?",
    );
    this.#remove = database.prepare("DELETE FROM resource WHERE key = ?");
    this.#event = database.prepare(
      "INSERT INTO event (revision, operation, version, body, checksum, at) VALUES (?, ?, ?, ?, ?, ?)",
    );
    this.#times = database.prepare("SELECT revision, at FROM event ORDER BY revision");
    this.#sizes = database.prepare(
      "SELECT revision, length(body) AS bytes FROM event ORDER BY revision",
    );
    this.#position = database.prepare("UPDATE store SET revision = ?, compacted = ?");
    const store = database.prepare("SELECT revision, compacted FROM store").get();
    this.#revision = Number(store?.revision);
    this.#compacted = Number(store?.compacted);
    const history = database.prepare("SELECT total(length(body)) AS bytes FROM event").get();
    this.#historyBytes = Number(history?.bytes);
    const newest = database.prepare("SELECT at FROM event ORDER BY revision DESC LIMIT 1").get();
    this.#newestMs = Number(newest?.at ?? 0);
  }

  /** Commits a group at a time. Throws when it could not be committed; the outcome is in the details. */
  write(nowMs: number, requests: readonly WriteRequest[]): readonly WriteOutcome[] {
    const before = {
      revision: this.#revision,
      bytes: this.#historyBytes,
      newestMs: this.#newestMs,
    };
    return this.#transaction(
      () => {
        this.#setTime(nowMs);
        const outcomes = requests.map((request) => this.#apply(request));
        if (this.#revision !== before.revision) {
          this.#cutHistory(this.#bounds.events);
          this.#position.run(this.#revision, this.#compacted);
        }
        return outcomes;
      },
      () => {
        this.#reload(before.bytes);
        this.#newestMs = before.newestMs;
      },
    );
  }

  get history(): HistorySize {
    const size = { events: this.#revision - this.#compacted, bytes: this.#historyBytes };
    const oldestMs = readOldestMs(this.#database);
    return oldestMs === undefined ? size : { ...size, oldestMs };
  }

  /** Forgets the history that is too old at a time. Without any there is no transaction, and no sync. */
  expire(nowMs: number): void {
    const { maxAgeMs } = this.#bounds;
    if (maxAgeMs === undefined) return;
    const isAhead = this.#newestMs > nowMs + CLOCK_SLACK_MS;
    if (!isAhead && this.#endOfAge(nowMs - maxAgeMs) <= this.#compacted) return;
    const before = { bytes: this.#historyBytes, newestMs: this.#newestMs };
    this.#transaction(
      () => {
        this.#setTime(nowMs);
        this.#forget(this.#endOfAge(nowMs - maxAgeMs));
        this.#position.run(this.#revision, this.#compacted);
      },
      () => {
        this.#reload(before.bytes);
        this.#newestMs = before.newestMs;
      },
    );
  }

  /** Cuts the history down to the newest `keep` commits. */
  compact(keep: number): void {
    const bytes = this.#historyBytes;
    this.#transaction(
      () => {
        this.#forget(this.#revision - keep);
        this.#position.run(this.#revision, this.#compacted);
      },
      () => this.#reload(bytes),
    );
  }

  /**
   * Replaces everything by staged rows in one transaction and starts a new epoch without history.
   * The next revision is above all that were given out and all that were restored.
   */
  replaceAll(stagingTable: string): string {
    const bytes = this.#historyBytes;
    return this.#transaction(
      () => {
        this.#database.exec(`
          DELETE FROM resource;
          DELETE FROM event;
          INSERT INTO resource (key, uid, version, owner, body, checksum)
            SELECT key, uid, version, owner, body, checksum FROM ${stagingTable};
          UPDATE store SET epoch = lower(hex(randomblob(16)));
        `);
        const numeric = this.#database
          .prepare(
            // Versions are opaque; only those that look like revisions could be given out again.
            "SELECT max(CAST(version AS INTEGER)) AS version FROM resource " +
              "WHERE version NOT GLOB '*[^0-9]*' AND length(version) < 16",
          )
          .get();
        const highest = Math.max(this.#revision, Number(numeric?.version ?? 0));
        // What is restored may be the copy of a store that went on after it.
        this.#revision = firstOfNewLine(highest);
        this.#compacted = this.#revision;
        this.#historyBytes = 0;
        this.#position.run(this.#revision, this.#compacted);
        return String(this.#database.prepare("SELECT epoch FROM store").get()?.epoch);
      },
      () => this.#reload(bytes),
    );
  }

  #transaction<T>(work: () => T, undo: () => void): T {
    let outcome: "not-applied" | "unknown" = "not-applied";
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      outcome = "unknown";
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      if (isDiskFull(error)) releaseLogSpace(this.#database);
      undo();
      const failure = describeDamage(error, this.#database.location() ?? "", { outcome });
      throw failure instanceof StorageError ? failure : failedCommit(error, outcome);
    }
  }

  /** What a rollback has to take back in memory. */
  #reload(historyBytes: number): void {
    const store = this.#database.prepare("SELECT revision, compacted FROM store").get();
    this.#revision = Number(store?.revision);
    this.#compacted = Number(store?.compacted);
    this.#historyBytes = historyBytes;
  }

  #apply(request: WriteRequest): WriteOutcome {
    if (isSingleWrite(request)) return this.#applySingle(request);
    const [steps, guards] = request;
    for (const [index, guard] of guards.entries()) {
      if (!this.#guardHolds(guard)) return { kind: "guard", index };
    }
    const judged: ("apply" | "skip")[] = [];
    for (const [index, step] of steps.entries()) {
      const verdict = this.#judge(step);
      if (verdict !== "apply" && verdict !== "skip") {
        return { kind: "refused", code: verdict, index };
      }
      judged.push(verdict);
    }
    return steps.map((step, index): StepResult => {
      if (judged[index] === "skip") return null;
      return isWriteRow(step) ? this.#put(step) : this.#drop(step[0]);
    });
  }

  /** An update is judged by its own condition: the most frequent request is one statement. */
  #applySingle(row: WriteRow): WriteOutcome {
    const [key, uid, expected] = row;
    const revision = expected === "" ? undefined : this.#replace(row);
    if (revision !== undefined) return revision;
    const refusal = checkWritePreconditions(this.#headOf(key), uid, expected);
    if (refusal !== undefined) return { kind: "refused", code: refusal, index: 0 };
    return this.#put(row);
  }

  #guardHolds([key, uid, version]: GuardRow): boolean {
    return guardHolds(this.#headOf(key), { id: { uid }, version });
  }

  #judge(step: WriteStep): "apply" | "skip" | "STORAGE_WRONG_UID" | "STORAGE_CAS_FAILURE" {
    const [key, uid, expected] = step;
    if (isWriteRow(step))
      return checkWritePreconditions(this.#headOf(key), uid, expected) ?? "apply";
    const verdict = checkDeletePreconditions(this.#headOf(key), uid, expected);
    return verdict === "delete" ? "apply" : verdict;
  }

  #put(row: WriteRow): number {
    const [key, uid, expected, owner, body, checksum] = row;
    if (expected !== "") {
      const replaced = this.#replace(row);
      if (replaced === undefined) throw new Error("a judged write did not find its row");
      return replaced;
    }
    const version = String(this.#revision + 1);
    this.#insert.run(Buffer.from(key), uid, version, bytesOrNull(owner), body, checksum);
    return this.#record(UPSERT, { version, body, checksum });
  }

  /** The revision of an update, or `undefined` when no row has this uid and version. */
  #replace([key, uid, expected, owner, body, checksum]: WriteRow): number | undefined {
    const version = String(this.#revision + 1);
    const bytes = Buffer.from(key);
    const ownerBytes = bytesOrNull(owner);
    const changed = this.#update.run(version, ownerBytes, body, checksum, bytes, uid, expected);
    if (changed.changes === 0) return undefined;
    return this.#record(UPSERT, { version, body, checksum });
  }

  #drop(key: string): StepResult {
    const bytes = Buffer.from(key);
    const row = this.#row.get(bytes) as BodyRow | undefined;
    if (row === undefined) throw new Error("a judged delete did not find its row");
    this.#remove.run(bytes);
    return [this.#record(DELETE, row), row];
  }

  #record(operation: number, row: BodyRow): number {
    this.#revision += 1;
    const { version, body, checksum } = row;
    this.#event.run(this.#revision, operation, version, body, checksum, this.#newestMs);
    this.#historyBytes += row.body.byteLength;
    return this.#revision;
  }

  #headOf(key: string): StoredHead | undefined {
    return this.#head.get(Buffer.from(key)) as StoredHead | undefined;
  }

  /**
   * Sets the time of what comes next. Commits from a clock that was far ahead get the time at which that was found out:
   * otherwise they would stay until the clock is there again.
   */
  #setTime(nowMs: number): void {
    if (this.#newestMs > nowMs + CLOCK_SLACK_MS) {
      this.#database.prepare("UPDATE event SET at = ?1 WHERE at > ?1").run(nowMs);
      this.#newestMs = nowMs;
    }
    this.#newestMs = Math.max(this.#newestMs, nowMs);
  }

  /** The last of the oldest events that are not younger than a time. */
  #endOfAge(lastMs: number): number {
    let last = this.#compacted;
    for (const { revision, at } of this.#times.iterate()) {
      // Without a time it counts as the next one that has one.
      if (at === null) continue;
      if (Number(at) > lastMs) break;
      last = Number(revision);
    }
    return last;
  }

  #cutHistory(keep: number): void {
    if (this.#revision - this.#compacted > keep + Math.min(keep, COMPACTION_STEP)) {
      this.#forget(this.#revision - keep);
    }
    if (this.#historyBytes > this.#bounds.bytes) this.#forget(this.#endOfExcess());
  }

  /** The last of the oldest events that have to go for the history to be within its bytes. */
  #endOfExcess(): number {
    let left = this.#historyBytes;
    let last = this.#compacted;
    for (const row of this.#sizes.iterate()) {
      if (left <= this.#bounds.bytes) break;
      left -= Number(row.bytes);
      last = Number(row.revision);
    }
    return last;
  }

  #forget(revision: number): void {
    if (revision <= this.#compacted) return;
    const doomed = this.#database
      .prepare("SELECT total(length(body)) AS bytes FROM event WHERE revision <= ?")
      .get(revision);
    this.#database.prepare("DELETE FROM event WHERE revision <= ?").run(revision);
    this.#historyBytes -= Number(doomed?.bytes);
    this.#compacted = revision;
  }
}

/** When the oldest commit of the history was made; undefined when there is none. */
export function readOldestMs(database: DatabaseSync): number | undefined {
  const oldest = database
    .prepare("SELECT at FROM event WHERE at IS NOT NULL ORDER BY revision LIMIT 1")
    .get();
  return oldest === undefined ? undefined : Number(oldest["at"]);
}

/** Bytes of a text, or the SQL null. */
export function bytesOrNull(text: string | null): Buffer | null {
  return text === null ? null : Buffer.from(text);
}

/**
 * The error of a group that was not committed. A full disk is found out before the record that
 * makes a commit valid is complete; other failures of the commit itself leave its fate open.
 */
function failedCommit(error: unknown, outcome: "not-applied" | "unknown"): StorageError {
  const known = isDiskFull(error) ? "not-applied" : outcome;
  const reason = error instanceof Error ? error.message : String(error);
  return new StorageError("STORAGE_INCONSISTENT", `the store could not commit: ${reason}`, {
    cause: error,
    details: { outcome: known },
  });
}

function isDiskFull(error: unknown): boolean {
  const SQLITE_FULL = 13;
  const code = (error as { errcode?: number }).errcode;
  return code !== undefined && (code & 0xff) === SQLITE_FULL;
}
