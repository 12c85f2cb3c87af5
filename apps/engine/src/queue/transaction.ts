import { type Clock, sleep } from "@stackwright/base/clock";
import {
  type BatchOperation,
  type Guard,
  isStorageError,
  type Resource,
  type ResourceId,
  type ResourceType,
  readStored,
  type StorageBackend,
} from "@stackwright/storage";
import { projectDeletionPlace, projectOfNew } from "../domain/kinds-of-projects.ts";
import { decodeRecord, type RecordKind, typeUrlOf } from "../domain/record-kind.ts";
import type { Place } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { TraceScope } from "../span/trace-scope.ts";

/** A stored message, or the place of one that is not stored. */
export interface Row<M> {
  readonly kind: RecordKind<M>;
  readonly id: ResourceId;
  /** As it was read. */
  readonly resource: Resource | undefined;
  /** As it will be written, if this transaction writes it. */
  message: M;
}

export interface StoredRow<M> extends Row<M> {
  readonly resource: Resource;
}

/** Writes that belong to the first batch which changes something. */
export interface Companion {
  /** Throws where nothing is to be changed any more. Each attempt begins with it. @default nothing is checked */
  check?(tx: Transaction): Promise<void>;
  /**
   * For the batch that is about to be written; none where a former batch has them. Each adds a resource that no two batches add, which
   * therefore tells which attempt was done.
   */
  next(): readonly BatchOperation[];
  /** The batch was written. */
  written(): void;
}

/** Two companions of one batch. */
export function together(first: Companion, second: Companion): Companion {
  return {
    check: async (tx) => {
      await first.check?.(tx);
      await second.check?.(tx);
    },
    next: () => [...first.next(), ...second.next()],
    written: () => {
      first.written();
      second.written();
    },
  };
}

export interface TransactionParts {
  readonly storage: StorageBackend;
  readonly clock: Clock;
  /** Makes a text that no other write has. */
  readonly token: () => string;
  /** A number in [0, 1), for the pauses between attempts. */
  readonly random: () => number;
  /** What the first batch has beside its own writes. @default nothing */
  readonly companion?: Companion | undefined;
  /** Knows where what is requested belongs. @default nowhere */
  readonly traces?: TraceScope | undefined;
}

/** One attempt: strong reads, then at most one atomic batch. */
export class Transaction {
  readonly nowMs: number;
  readonly #parts: TransactionParts;
  readonly #rows = new Map<string, Row<unknown>>();
  readonly #added = new Map<string, Row<unknown>>();
  readonly #written = new Set<Row<unknown>>();
  readonly #removed = new Set<Row<unknown>>();
  readonly #guards: Guard[] = [];
  /** Where the companions of the batch are. */
  #beside: readonly ResourceId[] = [];
  /** What all writes of this attempt carry, and no other write does. */
  readonly generation: string;

  constructor(parts: TransactionParts) {
    this.#parts = parts;
    this.nowMs = Math.floor(parts.clock.wallMs());
    this.generation = parts.token();
  }

  /** Reads once; a second read of one place gives the same row. */
  async find<M>(kind: RecordKind<M>, place: Place): Promise<StoredRow<M> | undefined> {
    const id = idOf(kind, place);
    const key = keyOf(id);
    const known = this.#rows.get(key);
    if (known !== undefined) return known as StoredRow<M>;
    const resource = await readStored(this.#parts.storage, "strong", id);
    if (resource === undefined) return undefined;
    const row = { kind, id: resource.id, resource, message: decodeRecord(kind, resource) };
    this.#rows.set(key, row);
    return row;
  }

  /** Reads, and refuses what does not exist. */
  async get<M>(kind: RecordKind<M>, place: Place): Promise<StoredRow<M>> {
    const row = await this.find(kind, place);
    if (row === undefined) {
      throw new ServerError("not_found", `there is no ${kind.type.kind} "${place.name}"`);
    }
    return row;
  }

  /** Reads; where nothing is stored, the row adds the resource as soon as it is updated. */
  async findOrNew<M>(kind: RecordKind<M>, place: Place, empty: () => M): Promise<Row<M>> {
    const found = await this.find(kind, place);
    if (found !== undefined) return found;
    const id = idOf(kind, place);
    const known = this.#added.get(keyOf(id));
    if (known !== undefined) return known as Row<M>;
    const row: Row<M> = { kind, id, resource: undefined, message: empty() };
    this.#added.set(keyOf(id), row);
    return row;
  }

  /** Adds a resource; the batch fails if the name is taken. */
  create<M>(kind: RecordKind<M>, place: Place, message: M): void {
    this.#written.add({ kind, id: idOf(kind, place), resource: undefined, message });
  }

  /** Replaces what was read. */
  update<M>(row: Row<M>, change: Partial<M>): void {
    row.message = { ...row.message, ...change };
    this.#written.add(row);
  }

  /** Deletes what was read; the batch fails unless it is this batch that deletes it. */
  remove<M>(row: StoredRow<M>): void {
    this.#removed.add(row);
    this.guard({ id: row.resource.id, version: row.resource.version });
  }

  /** The batch fails unless this holds in the same step. */
  guard(guard: Guard): void {
    const isKnown = this.#guards.some(
      ({ id, version }) => keyOf(id) === keyOf(guard.id) && version === guard.version,
    );
    if (!isKnown) this.#guards.push(guard);
  }

  /** The batch fails if a row was changed by another writer meanwhile. */
  guardRow<M>(row: StoredRow<M>): void {
    this.guard({ id: row.resource.id, version: row.resource.version });
  }

  /** The batch fails if something was stored in a place where nothing was. */
  guardAbsent<M>(kind: RecordKind<M>, place: Place): void {
    this.guard({ id: idOf(kind, place), version: "" });
  }

  /** A text that no other write has. */
  makeId(): string {
    return this.#parts.token();
  }

  /** Where what this transaction requests belongs, as W3C Trace Context writes it; empty: nowhere. */
  get traceParent(): string {
    return this.#parts.traces?.traceParent ?? "";
  }

  get isEmpty(): boolean {
    return this.#written.size === 0 && this.#removed.size === 0;
  }

  /** Writes everything in one step. `conflict` where it makes something in a project that is being deleted. */
  async commit(): Promise<void> {
    await this.#requireProjects();
    const operations: BatchOperation[] = [
      ...this.#writes().map((row) => ({ kind: "write" as const, resource: this.#resource(row) })),
      ...[...this.#removed].flatMap(({ resource }) =>
        resource === undefined
          ? []
          : [{ kind: "delete" as const, id: resource.id, version: resource.version }],
      ),
    ];
    if (operations.length === 0) return;
    const { companion, storage } = this.#parts;
    const beside = (companion?.next() ?? []).flatMap((one) =>
      one.kind === "write" ? [{ ...one.resource, generation: this.generation }] : [],
    );
    this.#beside = beside.map(({ id }) => id);
    operations.push(...beside.map((resource) => ({ kind: "write" as const, resource })));
    await storage.batch(operations, { guards: this.#guards });
    companion?.written();
  }

  /**
   * Whether the batch was done: its writes carry a generation that no other has. One of them is enough, as others may have
   * been replaced since.
   */
  async happened(): Promise<boolean> {
    for (const id of [...this.#beside, ...this.#writes().map((row) => row.id)]) {
      const stored = await readStored(this.#parts.storage, "strong", { ...id, uid: "" });
      if (stored?.generation === this.generation) return true;
    }
    return false;
  }

  /** Whether the batch can no longer be done, or was: something that it requires is stored at another version by now, and none comes back. */
  async isOver(): Promise<boolean> {
    const required = [
      ...this.#guards,
      ...this.#writes().map(({ id, resource }) => ({ id, version: resource?.version ?? "" })),
    ];
    for (const { id, version } of required) {
      if (version === "") continue;
      const stored = await readStored(this.#parts.storage, "strong", { ...id, uid: "" });
      if (stored?.version !== version) return true;
    }
    return false;
  }

  /** A deletion of a project leaves nothing: whatever is new in one is made before it begins, or after it has ended. */
  async #requireProjects(): Promise<void> {
    for (const { id, resource, message } of this.#writes()) {
      const project = resource === undefined ? projectOfNew(id, message) : undefined;
      if (project === undefined) continue;
      const place = projectDeletionPlace(project);
      if ((await this.find(SERVER_KINDS.projectDeletion, place)) !== undefined) {
        throw new ServerError(
          "conflict",
          `the project "${project.project}" is being deleted; try again, or delete it again if that was interrupted`,
        );
      }
      this.guardAbsent(SERVER_KINDS.projectDeletion, place);
    }
  }

  /** What is written. */
  #writes(): readonly Row<unknown>[] {
    return [...this.#written].filter((row) => !this.#removed.has(row));
  }

  #resource({ kind, id, resource, message }: Row<unknown>): Resource {
    return {
      id: { ...id, uid: resource?.id.uid ?? this.generation },
      version: resource?.version ?? "",
      generation: this.generation,
      metadata: {},
      status: {},
      data: { typeUrl: typeUrlOf(kind.type), value: kind.codec.encode(message).finish() },
    };
  }
}

/** Attempts before a transaction gives up: each lost one means that another writer succeeded. */
const ATTEMPTS = 40;

/** An attempt whose outcome is not known: it may still be done. */
interface OpenAttempt<T> {
  readonly tx: Transaction;
  readonly result: T;
  /** Why it is not known. */
  readonly error?: unknown;
}

/**
 * Runs a transaction until its batch succeeds: reads, decides, writes in one atomic step, and begins again where another
 * writer was faster or a guard did not hold. So `decide` has to refuse by what it reads whatever cannot be done.
 *
 * A batch whose answer was lost may be done later. Each further attempt looks for it after its reads: if it is not there
 * by then, one of the two fails, as they write the same records. An attempt that refuses, or has nothing to write, conflicts with none: what it says, which may be so by the time
 * alone, is the answer once no earlier batch can be done any more; until then the outcome is not known.
 */
export async function transact<T>(
  parts: TransactionParts,
  decide: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const open: OpenAttempt<T>[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const tx = new Transaction(parts);
    let decided: OpenAttempt<T> | undefined;
    try {
      decided = await decideAfter(open, tx, async () => {
        await parts.companion?.check?.(tx);
        return decide(tx);
      });
      if (decided.tx !== tx) {
        parts.companion?.written();
        return decided.result;
      }
      await tx.commit();
      return decided.result;
    } catch (thrown) {
      // A read that fails is not repeated, unless something may have been written.
      const mayRepeat = decided !== undefined || open.length > 0;
      if (!mayRepeat || !isLost(thrown) || attempt >= ATTEMPTS) throw thrown;
      const isUnknown =
        isStorageError(thrown, "STORAGE_INCONSISTENT") && thrown.details.outcome !== "not-applied";
      if (decided !== undefined && isUnknown) open.push({ ...decided, error: thrown });
      await sleep(parts.clock, parts.random() * Math.min(200, 2 ** attempt));
    }
  }
}

/** What an attempt decides; or an earlier attempt, if it was done after all, which may be what the decision refuses. */
async function decideAfter<T>(
  open: readonly OpenAttempt<T>[],
  tx: Transaction,
  decide: () => Promise<T>,
): Promise<OpenAttempt<T>> {
  const [decision] = await Promise.allSettled([decide()]);
  const isRefused = decision.status === "rejected" || tx.isEmpty;
  const possible: OpenAttempt<T>[] = [];
  for (const earlier of open) {
    // Before the look for it, as it may be done in between.
    if (isRefused && !(await earlier.tx.isOver())) possible.push(earlier);
    if (await earlier.tx.happened()) return earlier;
  }
  const [unknown] = possible;
  if (unknown !== undefined) throw unknown.error;
  if (decision.status === "rejected") throw decision.reason;
  return { tx, result: decision.value };
}

function isLost(error: unknown): boolean {
  return isStorageError(
    error,
    "STORAGE_CAS_FAILURE",
    "STORAGE_WRONG_UID",
    "STORAGE_GUARD_FAILED",
    "STORAGE_INCONSISTENT",
  );
}

/** Id of a record in any lifetime. */
export function idOf({ type }: { readonly type: ResourceType }, place: Place): ResourceId {
  return { uid: "", name: place.name, type, tenancy: place.tenancy };
}
function keyOf({ name, type, tenancy }: ResourceId): string {
  return [type.kind, tenancy.partition, tenancy.namespace, name].join("\0");
}
