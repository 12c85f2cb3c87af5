import type { CollectionOptions } from "../collection.ts";
import type { TransformationContext } from "../context.ts";
import type { DeclaredFetchSpec } from "../declared-fetch.ts";
import { KrtError } from "../errors.ts";
import type { Kind } from "../kind.ts";
import { Buffer } from "./buffer.ts";
import { FetchContext } from "./context.ts";
import { DeclaredFetchSet } from "./declared.ts";
import { DIRTY, type Entry, FAILED, GONE, SETTLED, SUSPENDED } from "./entry.ts";
import { EntryTable, UNIT } from "./entry-table.ts";
import type { Link } from "./link.ts";
import { type AnyNode, type NodeType, SyncState } from "./node.ts";
import { OutputKeyConflicts } from "./output-key-conflicts.ts";
import type { Row } from "./row.ts";
import { RowNode } from "./row-node.ts";
import type { Owner } from "./scope.ts";
import type { StatusNode } from "./status-node.ts";
import { releaseFrom } from "./tracker.ts";

/** What becomes of the output of an input whose transformation throws. */
export type FailurePolicy = "keep" | "delete";

/** What a derivation needs beyond the options of every collection. */
export interface DerivedSpec<I, R> {
  /** `undefined`: there is one input that never changes. */
  readonly primary: AnyNode | undefined;
  readonly transform: (context: TransformationContext, input: I, fetched: never) => R;
  readonly fetches?: Readonly<Record<string, DeclaredFetchSpec>>;
  readonly onFailure: FailurePolicy;
  /** Takes the status out of each result, which is then a {@link StatusResult}. */
  readonly status?: StatusNode<I, unknown>;
}

/** Why an input ran: the first change that asked for it in that turn. */
export interface RecomputeCause {
  readonly turn: number;
  /** Absent: a dependency became synced, or another input let go of an output key. */
  readonly collection: string | undefined;
  readonly key: string | undefined;
}

/** What a transformation with status returns. */
interface StatusResult<R> {
  readonly status: unknown;
  readonly output: R;
}

/** Number of runs between two checks of the clock, in sliced turns. */
const RUNS_PER_CLOCK = 8;

/**
 * A collection computed from others by a transformation, once per input key.
 *
 * Invariants between turns:
 * - Once the primary is synced there is an entry per input (see {@link EntryTable}).
 * - The rows are the union of the entries' outputs, and each row's `owner` is the entry whose output it
 *   is; where several inputs claim a key (an error, see {@link OutputKeyConflicts}) it is the last that ran.
 * - `#dirty` is empty. The links of each entry are the fetches of its last run.
 *
 * `R` is what a run returns; how it becomes rows is up to the subclass (`apply`).
 */
export abstract class DerivedNode<I, O, R = unknown> extends RowNode<O> {
  readonly type: NodeType;
  readonly #transform: (context: TransformationContext, input: I, fetched: never) => R;
  readonly #declared: DeclaredFetchSet | undefined;
  readonly #onFailure: FailurePolicy;
  readonly #status: StatusNode<I, unknown> | undefined;
  readonly context: FetchContext;
  readonly #entries: EntryTable;
  readonly #dirty = new Buffer<Entry>();
  #next = 0;
  /** Set while entries are run, which is when more of them become dirty without the node being queued. */
  #computing = false;
  /** What each suspended entry waits for. */
  readonly #suspended = new Map<Entry, AnyNode>();
  readonly #failures = new Map<Entry, KrtError>();
  #causes: WeakMap<Entry, RecomputeCause> | undefined;
  readonly #claims = new OutputKeyConflicts();

  constructor(
    owner: Owner,
    type: NodeType,
    kind: Kind<O>,
    spec: DerivedSpec<I, R>,
    options: CollectionOptions,
  ) {
    super(owner, type, kind, options);
    this.type = type;
    this.#transform = spec.transform;
    this.#onFailure = spec.onFailure;
    this.#status = spec.status;
    this.context = new FetchContext(this.graph, owner);
    const self = this as unknown as DerivedNode<never, unknown>;
    this.#entries = new EntryTable(self, spec.primary);
    if (spec.primary !== undefined) this.addEdge(spec.primary, "input");
    this.#declared = spec.fetches && new DeclaredFetchSet(self, spec.fetches);
  }

  /**
   * Brings the output of an entry in line with a result. May throw what the kind throws; it must then
   * leave the output as it was, or consistent. Returns whether anything changed.
   */
  protected abstract apply(entry: Entry, result: R): boolean;

  /** Where a result differs from the present output: a path, or an empty text for the whole. */
  protected abstract difference(entry: Entry, result: R): string | undefined;

  /** Whether the result means that there is no output. */
  protected abstract isNothing(result: R): boolean;

  // ---- notifications from other nodes ----

  markDirty(entry: Entry, source: AnyNode | undefined, key: string | undefined): void {
    this.#dirty.push(entry);
    if (this.graph.options.explain) this.#noteCause(entry, source, key);
    if (!this.#computing) this.graph.turn.enqueue(this);
  }

  // ---- the turn ----

  protected compute(): boolean {
    if (this.primary?.syncState === SyncState.unsynced) return true;
    if (this.#declared?.ready === false) return true;
    this.#computing = true;
    const done = this.#entries.takeIn() && this.runDirty();
    this.#computing = false;
    if (!done) return false;
    if (!this.#claims.isEmpty) {
      this.#claims.settle(this.name, (error) => this.graph.report(error));
    }
    if (this.#suspended.size === 0) this.becomeSynced();
    return true;
  }

  /** The input of an entry is gone. */
  endEntry(entry: Entry): void {
    entry.state |= GONE;
    this.unsuspend(entry);
    this.#recover(entry);
    releaseFrom(entry.links);
    entry.links = undefined;
    this.context.endScope(entry);
    this.removeOutput(entry);
    this.#status?.drop(entry.input.key);
  }

  /** Runs dirty entries, those included that become dirty meanwhile. False: call again. */
  protected runDirty(): boolean {
    const { level, graph } = this;
    for (let entry = this.firstDirty; entry !== undefined; entry = this.firstDirty) {
      this.#next++;
      this.run(entry);
      if (this.level !== level && graph.turn.queue.hasUpTo(this.level - 1)) return false;
      if (this.#next % RUNS_PER_CLOCK === 0 && graph.turn.outOfTime()) return false;
    }
    return true;
  }

  /** The entry that is to run next, or `undefined` when all have. It stays the first one until it is dirty no more. */
  protected get firstDirty(): Entry | undefined {
    while (this.#next < this.#dirty.count) {
      const entry = this.#dirty.at(this.#next);
      if ((entry.state & (DIRTY | GONE)) === DIRTY) return entry;
      this.#next++;
    }
    this.#dirty.clear();
    this.#next = 0;
    return undefined;
  }

  /** Runs a dirty entry, which is then dirty no more unless it has to wait for its turn. */
  protected run(entry: Entry): void {
    entry.state &= ~DIRTY;
    const { counters, context } = this;
    const { tracker } = this.graph;
    if ((entry.state & SUSPENDED) !== 0) this.unsuspend(entry);
    let result: R | undefined;
    let failure: { readonly error: unknown } | undefined;
    tracker.begin(entry);
    context.begin();
    try {
      result = this.#execute(entry, this.inputOf(entry));
    } catch (error) {
      failure = { error };
    }
    const { abandoned } = tracker;
    tracker.end();
    const discarded = context.end(entry, abandoned === undefined && failure === undefined);
    if (abandoned !== undefined) {
      counters.abandoned++;
      if (abandoned === "order") this.postpone(entry);
      else this.#suspend(entry, abandoned);
    } else if (failure !== undefined) {
      this.fail(entry, failure.error);
    } else {
      counters.runs++;
      this.#accept(entry, result as R, discarded);
    }
  }

  /** The run of an entry read something that is not final: it runs again in this turn. */
  protected postpone(entry: Entry): void {
    entry.mark();
  }

  #execute(entry: Entry, input: I): R {
    const { strict } = this.graph.options;
    if (strict === undefined) return this.#call(input);
    return strict.execute({ node: this, entry, input, transform: (given) => this.#call(given) });
  }

  #call(input: I): R {
    return this.#transform(this.context, input, this.given(input) as never);
  }

  /** What a transformation gets beside its input. */
  protected given(input: I): unknown {
    return this.#declared?.read(input);
  }

  /** The value of an entry's input as of now. */
  inputOf(entry: Entry): I {
    const { primary } = this;
    return primary === undefined ? (UNIT as I) : (primary.valueOf(entry.input) as I);
  }

  /** Takes a result in: its output, then its status, so that a refused output leaves the status too. */
  #accept(entry: Entry, result: R, discarded: boolean): void {
    try {
      const output =
        this.#status === undefined ? result : ((result ?? {}) as StatusResult<R>).output;
      const keeps = discarded && ((entry.state & SETTLED) !== 0 || this.isNothing(output));
      if (discarded) this.counters.discarded++;
      const first = (entry.state & SETTLED) === 0;
      if (!keeps) {
        entry.state |= SETTLED;
        if (!this.apply(entry, output)) this.counters.unchanged++;
      }
      if (this.#status !== undefined && (!discarded || first)) {
        const { status } = (result ?? {}) as StatusResult<R>;
        this.#status.put(entry.input.key, this.inputOf(entry), status);
      }
    } catch (error) {
      this.fail(entry, error);
      return;
    }
    this.#recover(entry);
  }

  // ---- suspension and failure ----

  #suspend(entry: Entry, source: AnyNode): void {
    entry.state |= SUSPENDED;
    this.#suspended.set(entry, source);
  }

  protected unsuspend(entry: Entry): void {
    entry.state &= ~SUSPENDED;
    this.#suspended.get(entry)?.awaiting.delete(entry);
    this.#suspended.delete(entry);
  }

  protected fail(entry: Entry, cause: unknown): void {
    const { key } = entry.input;
    const error = transformationError(this.name, key, cause);
    this.counters.failed++;
    entry.state |= FAILED;
    this.#failures.set(entry, error);
    if (this.#onFailure === "delete") {
      this.removeOutput(entry);
      this.#status?.drop(key);
    }
    this.graph.report(error);
    this.graph.onFailure?.(this, key, error);
  }

  #recover(entry: Entry): void {
    if ((entry.state & FAILED) === 0) return;
    entry.state &= ~FAILED;
    this.#failures.delete(entry);
    this.graph.onFailure?.(this, entry.input.key, undefined);
  }

  /**
   * Runs the transformation once more for an entry that nothing asked to run, and says where the result
   * differs from the output that is there. A difference means that it depends on something it did not
   * fetch. Changes nothing. Only between turns.
   */
  audit(entry: Entry): string | undefined {
    if ((entry.state & (DIRTY | GONE | SUSPENDED | FAILED)) !== 0) return undefined;
    const { tracker } = this.graph;
    tracker.beginDry(entry);
    this.context.begin();
    try {
      const result = this.#call(this.inputOf(entry));
      if (tracker.madeScope || this.context.end(entry, false)) return undefined;
      const output = this.#status === undefined ? result : (result as StatusResult<R>).output;
      return this.difference(entry, output);
    } catch (error) {
      this.context.end(entry, false);
      return error instanceof Error ? `threw ${error.message}` : "threw";
    } finally {
      tracker.endDry();
    }
  }

  // ---- output ----

  /** Puts an object under `key` as output of `entry`, taking the key over where another has it. */
  protected putOutput(entry: Entry, key: string, value: O): Row<O> {
    const row = this.rowAt(key);
    if (row?.value === undefined) return this.addRow(key, row, value, entry);
    if (row.owner !== entry) {
      this.#claims.contest(key, row.owner as Entry, entry);
      row.owner = entry;
    }
    if (!this.comparer.equal(row.value, value)) this.updateRow(row, value);
    return row;
  }

  /** Removes a row that `entry` no longer yields, unless it belongs to another by now. */
  protected dropOutput(entry: Entry, row: Row<unknown>): void {
    if (row.owner !== entry) return;
    this.removeRow(row as Row<O>);
    this.#claims.release(row.key, entry);
  }

  protected removeOutput(entry: Entry): void {
    const { output } = entry;
    entry.output = undefined;
    if (output === undefined) return;
    if (Array.isArray(output)) for (const row of output) this.dropOutput(entry, row);
    else this.dropOutput(entry, output);
  }

  // ---- inspection ----

  #noteCause(entry: Entry, source: AnyNode | undefined, key: string | undefined): void {
    this.#causes ??= new WeakMap();
    const { number } = this.graph.turn;
    // A run that was given up is repeated for what it began for.
    if (source === undefined && this.#causes.get(entry)?.turn === number) return;
    this.#causes.set(entry, { turn: number, collection: source?.name, key });
  }

  /** Why an entry last ran, where explanations are on. */
  causeOf(entry: Entry): RecomputeCause | undefined {
    return this.#causes?.get(entry);
  }

  get primary(): AnyNode | undefined {
    return this.#entries.primary;
  }

  /** The inputs with their state. */
  get entries(): EntryTable {
    return this.#entries;
  }

  /** The links of declared fetches that are the same for all entries. */
  get sharedLinks(): Link | undefined {
    return this.#declared?.links;
  }

  /** What an entry fetched in its last run, declared fetches included. */
  *linksOf(entry: Entry): IterableIterator<Link> {
    for (const first of [this.sharedLinks, entry.links]) {
      for (let link = first; link !== undefined; link = link.next) yield link;
    }
  }

  /** The keys of other inputs whose outputs the last run of an entry read. */
  ownReadsOf(_entry: Entry): readonly string[] {
    return [];
  }

  /** The entries whose last run read the output of this input. */
  ownReadersOf(_input: string): readonly Entry[] {
    return [];
  }

  failureOf(entry: Entry): KrtError | undefined {
    return this.#failures.get(entry);
  }

  waitsFor(entry: Entry): AnyNode | undefined {
    return this.#suspended.get(entry);
  }

  protected release(): void {
    for (const entry of this.#entries) {
      this.unsuspend(entry);
      this.#recover(entry);
      entry.state |= GONE;
      releaseFrom(entry.links);
      entry.links = undefined;
      this.context.endScope(entry);
    }
    this.#declared?.release();
    this.#entries.clear();
    this.#dirty.clear();
    this.context.dispose();
  }
}

function transformationError(collection: string, key: string, cause: unknown): KrtError {
  const text = cause instanceof Error ? cause.message : String(cause);
  const where = `${collection}, input ${JSON.stringify(key)}`;
  const own = cause instanceof KrtError;
  return new KrtError(own ? cause.code : "KRT_TRANSFORMATION", `${text} (${where})`, {
    details: own ? { ...cause.details, collection, key } : { collection, key },
    cause,
  });
}
