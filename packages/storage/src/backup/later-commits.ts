import { StorageError } from "../errors.ts";
import type { CommitHistory, HistoryCommit } from "../feed/commit-history.ts";
import { resourceKey } from "../key.ts";
import type { Resource } from "../resource.ts";
import type { CallOptions } from "../types.ts";
import type { BackupManifest } from "./backup-manifest.ts";

// A backup is the store after one commit. With the commits behind that one it is the store after a later one too: the
// resources of the backup that these did not change, and of each that they did the last one, unless that was a deletion. The
// history is read three times: for the commit at which to stop, for the last change of each name, and for the contents. Only
// names stay in memory. What is forgotten of it meanwhile ends the restore.

/** A moment of a store: after a commit, or at a time, in milliseconds since 1970. */
export type RestorePoint = { readonly revision: number } | { readonly timeMs: number };

/** The commits behind a backup, up to a later point. */
export class LaterCommits {
  /** The last commit that counts. */
  readonly revision: number;
  readonly #history: CommitHistory;
  readonly #manifest: BackupManifest;
  /** The last commit of each name that is changed. */
  readonly #last: ReadonlyMap<string, number>;

  private constructor(
    history: CommitHistory,
    manifest: BackupManifest,
    revision: number,
    last: ReadonlyMap<string, number>,
  ) {
    this.#history = history;
    this.#manifest = manifest;
    this.revision = revision;
    this.#last = last;
  }

  /**
   * Finds what lies between a backup and a point. `STORAGE_INVALID_ARGUMENT` when the history is of another line, does not
   * reach from the one to the other, or the point is within a step that changed more than one resource.
   */
  static async find(
    history: CommitHistory,
    manifest: BackupManifest,
    point: RestorePoint,
    call: CallOptions,
  ): Promise<LaterCommits> {
    const revision =
      "revision" in point
        ? await wholeRevision(history, manifest, point.revision, call)
        : await revisionAt(history, manifest, point.timeMs, call);
    const last = new Map<string, number>();
    for await (const commit of commitsBehind(history, manifest, call)) {
      if (commit.revision > revision) break;
      last.set(resourceKey(commit.resource.id), commit.revision);
    }
    return new LaterCommits(history, manifest, revision, last);
  }

  /** Whether a resource of the backup is not what was stored at the point. */
  hasChanged(resource: Resource): boolean {
    return this.#last.has(resourceKey(resource.id));
  }

  /** The resources that were stored at the point and that the backup has not, or not like this. */
  async *resources(call: CallOptions): AsyncGenerator<Resource, undefined> {
    for await (const commit of commitsBehind(this.#history, this.#manifest, call)) {
      if (commit.revision > this.revision) return;
      const isLast = this.#last.get(resourceKey(commit.resource.id)) === commit.revision;
      if (isLast && commit.operation === "upsert") yield commit.resource;
    }
  }
}

/** The revision itself, where the store was whole at it. */
async function wholeRevision(
  history: CommitHistory,
  manifest: BackupManifest,
  revision: number,
  call: CallOptions,
): Promise<number> {
  let whole = manifest.store.revision;
  if (revision < whole) {
    throw refused("at", `the backup is of revision ${whole}, which is later; take an older backup`);
  }
  for await (const { last } of groupsBehind(history, manifest, call)) {
    if (whole === revision) return whole;
    if (last > revision) {
      throw refused(
        "at",
        `revision ${revision} may be within a step that changed more than one resource; name ${whole} or ${last}`,
      );
    }
    whole = last;
  }
  if (whole === revision) return whole;
  throw refused("at", `the history ends at revision ${whole}`);
}

/** The last revision that is not younger than a time and at which the store was whole. */
async function revisionAt(
  history: CommitHistory,
  manifest: BackupManifest,
  timeMs: number,
  call: CallOptions,
): Promise<number> {
  const first = manifest.store.revision;
  let whole = first;
  let hasTime = true;
  for await (const { last, newestMs } of groupsBehind(history, manifest, call)) {
    hasTime = newestMs !== undefined;
    if (newestMs === undefined) continue;
    if (newestMs > timeMs) break;
    whole = last;
  }
  if (!hasTime) {
    throw refused("at", "the newest commits of the history have no times; name a revision");
  }
  if (whole > first || first === 0) return whole;
  const made = (await timeOf(history, first, call)) ?? Date.parse(manifest.createdAt);
  if (timeMs >= made) return whole;
  const time = new Date(made).toISOString();
  throw refused("at", `the backup is of ${time}, which is later; take an older backup`);
}

/** When a commit was made, where the history still has it. */
async function timeOf(
  history: CommitHistory,
  revision: number,
  call: CallOptions,
): Promise<number | undefined> {
  const { commits } = await history.readCommits(Math.max(0, revision - 1), call);
  return commits[0]?.revision === revision ? commits[0].atMs : undefined;
}

/** Commits that stand together. */
interface CommitGroup {
  /** Revision of the last one. */
  readonly last: number;
  /** The latest of their times; undefined where they have none. */
  readonly newestMs: number | undefined;
}

async function* groupsBehind(
  history: CommitHistory,
  manifest: BackupManifest,
  call: CallOptions,
): AsyncGenerator<CommitGroup, undefined> {
  let before: HistoryCommit | undefined;
  let newestMs: number | undefined;
  for await (const commit of commitsBehind(history, manifest, call)) {
    if (before !== undefined && before.group !== commit.group) {
      yield { last: before.revision, newestMs };
      newestMs = undefined;
    }
    if (commit.atMs !== undefined) newestMs = Math.max(newestMs ?? commit.atMs, commit.atMs);
    before = commit;
  }
  if (before !== undefined) yield { last: before.revision, newestMs };
}

/** The commits after that of a backup, to the end of the history. */
async function* commitsBehind(
  history: CommitHistory,
  { store }: BackupManifest,
  call: CallOptions,
): AsyncGenerator<HistoryCommit, undefined> {
  for (let after = store.revision; ; ) {
    const { line, compacted, revision, commits } = await history.readCommits(after, call);
    if (line !== store.line) {
      throw refused(
        "history",
        `the backup is of line ${store.line}, the history of line ${line}: of another store, or from after a restore, a copy or a ` +
          "promotion, which begin a new line; take a backup of that line",
      );
    }
    if (after < compacted) {
      throw refused(
        "history",
        `the history begins behind revision ${compacted}, and the backup ends at ${store.revision}: what is between is ` +
          "forgotten; take a newer backup, and keep more history",
      );
    }
    if (after > revision) {
      throw refused("history", `the history ends at ${revision}, before the backup`);
    }
    yield* commits;
    const end = commits.at(-1)?.revision ?? after;
    if (end >= revision) return;
    if (end === after) {
      throw new StorageError("STORAGE_CORRUPT", `the history has no commit ${after + 1}`);
    }
    after = end;
  }
}

function refused(field: "at" | "history", message: string): StorageError {
  return new StorageError("STORAGE_INVALID_ARGUMENT", message, { details: { field } });
}
