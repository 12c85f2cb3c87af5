import type { CollectionOptions } from "../collection.ts";
import type { TransformationContext } from "../context.ts";
import type { DeclaredFetchSpec } from "../declared-fetch.ts";
import { KrtError } from "../errors.ts";
import type { Kind } from "../kind.ts";
import { Buffer } from "./buffer.ts";
import { RunContext } from "./context.ts";
import { DeclaredFetchSet } from "./declared.ts";
import { DIRTY, Entry, FAILED, GONE, SETTLED, SUSPENDED } from "./entry.ts";
import type { Link } from "./link.ts";
import { type AnyNode, type NodeType, SyncState } from "./node.ts";
import { Row } from "./row.ts";
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
export interface RunCause {
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

/** How many runs are made between two looks at the clock, in sliced turns. */
const RUNS_PER_CLOCK = 8;
const INPUTS_PER_CLOCK = 64;

/** The input of a derivation without a primary. */
const UNIT = Object.freeze({});

/**
 * A collection computed from others by a transformation, once per input key.
 *
 * Invariants between turns:
 * - Once the primary is synced there is exactly one entry per row of the primary, at the row's slot.
 * - The rows are the union of the entries' outputs, and each row's `owner` is the entry whose output it
 *   is; where several inputs claim a key (an error, see `#contested`) it is the last that ran.
 * - `#dirty` is empty. The links of each entry are the fetches of its last run.
 *
 * `R` is what a run returns; how it becomes rows is up to the subclass (`apply`).
 */
export abstract class DerivedNode<I, O, R = unknown> extends RowNode<O> {
  readonly type: NodeType;
  readonly #primary: AnyNode | undefined;
  readonly #transform: (context: TransformationContext, input: I, fetched: never) => R;
  readonly #declared: DeclaredFetchSet | undefined;
  readonly #onFailure: FailurePolicy;
  readonly #status: StatusNode<I, unknown> | undefined;
  readonly context: RunContext;
  readonly #entries: (Entry | undefined)[] = [];
  readonly #dirty = new Buffer<Entry>();
  #next = 0;
  /** Set while entries are run, which is when more of them become dirty without the node being queued. */
  #computing = false;
  /** Whether the primary's rows have been taken in as a whole. */
  #loaded = false;
  #loading: Iterator<Row<I>> | undefined;
  /** The turn whose changes of the primary are taken in, and how many of them. */
  #takenTurn = -1;
  #taken = 0;
  /** What each suspended entry waits for. */
  readonly #suspended = new Map<Entry, AnyNode>();
  readonly #failures = new Map<Entry, KrtError>();
  #causes: WeakMap<Entry, RunCause> | undefined;
  /** Keys that several inputs yield, with the entries that do. */
  #contested: Map<string, Set<Entry>> | undefined;

  constructor(
    owner: Owner,
    type: NodeType,
    kind: Kind<O>,
    spec: DerivedSpec<I, R>,
    options: CollectionOptions,
  ) {
    super(owner, type, kind, options);
    this.type = type;
    this.#primary = spec.primary;
    this.#transform = spec.transform;
    this.#onFailure = spec.onFailure;
    this.#status = spec.status;
    this.context = new RunContext(this.graph, owner);
    if (spec.primary !== undefined) this.addEdge(spec.primary, "input");
    this.#declared =
      spec.fetches &&
      new DeclaredFetchSet(this as unknown as DerivedNode<never, unknown>, spec.fetches);
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

  // ---- what others tell this node ----

  markDirty(entry: Entry, source: AnyNode | undefined, key: string | undefined): void {
    this.#dirty.push(entry);
    if (this.graph.options.explain) this.#noteCause(entry, source, key);
    if (!this.#computing) this.graph.enqueue(this);
  }

  // ---- the turn ----

  protected compute(): boolean {
    if (this.#primary !== undefined && this.#primary.syncState === SyncState.unsynced) return true;
    if (this.#declared?.ready === false) return true;
    this.#computing = true;
    const done = this.#takeIn() && this.#runDirty();
    this.#computing = false;
    if (!done) return false;
    this.#settleContested();
    if (this.#suspended.size === 0) this.becomeSynced();
    return true;
  }

  /** Turns changes of the primary into new, dirty and gone entries. */
  #takeIn(): boolean {
    if (!this.#loaded) return this.#load();
    const primary = this.#primary;
    if (primary === undefined) return true;
    const { graph } = this;
    if (this.#takenTurn !== graph.turn) {
      this.#takenTurn = graph.turn;
      this.#taken = 0;
    }
    const { changed, events } = primary;
    for (let i = this.#taken; i < events.count; ) {
      const row: Row<I> = changed.at(i);
      const entry = this.#entries[row.slot];
      if (events.at(i).new === undefined) {
        if (entry !== undefined) this.#dropEntry(entry);
      } else if (entry === undefined) {
        this.#addEntry(row);
      } else {
        entry.mark(primary, row.key);
      }
      this.#taken = ++i;
      if (i % INPUTS_PER_CLOCK === 0 && graph.outOfTime()) return false;
    }
    return true;
  }

  /** The first time all rows of the primary are taken in, whatever changed in this turn. */
  #load(): boolean {
    const primary = this.#primary;
    if (primary === undefined) {
      this.#addEntry(new Row<unknown>("", 0, UNIT, undefined));
      this.#loaded = true;
      return true;
    }
    this.#loading ??= (primary.rows() as Iterable<Row<I>>)[Symbol.iterator]();
    for (let i = 1; ; i++) {
      const next = this.#loading.next();
      if (next.done === true) break;
      if (primary.isPresent(next.value)) this.#addEntry(next.value);
      if (i % INPUTS_PER_CLOCK === 0 && this.graph.outOfTime()) return false;
    }
    this.#loading = undefined;
    this.#loaded = true;
    this.#takenTurn = this.graph.turn;
    this.#taken = primary.events.count;
    return true;
  }

  #addEntry(row: Row<unknown>): void {
    const entry = new Entry(this as unknown as DerivedNode<never, unknown>, row);
    this.#entries[row.slot] = entry;
    entry.mark(this.#primary, row.key);
  }

  #dropEntry(entry: Entry): void {
    this.#entries[entry.input.slot] = undefined;
    entry.state |= GONE;
    this.#unsuspend(entry);
    this.#recover(entry);
    releaseFrom(entry.links);
    entry.links = undefined;
    this.context.endScope(entry);
    this.removeOutput(entry);
    this.#status?.drop(entry.input.key);
  }

  /** Runs dirty entries, those included that become dirty meanwhile. */
  #runDirty(): boolean {
    const { level, graph } = this;
    while (this.#next < this.#dirty.count) {
      const entry = this.#dirty.at(this.#next++);
      entry.state &= ~DIRTY;
      if ((entry.state & GONE) === 0) this.#run(entry);
      if (this.level !== level && graph.queue.hasUpTo(this.level - 1)) return false;
      if (this.#next % RUNS_PER_CLOCK === 0 && graph.outOfTime()) return false;
    }
    this.#dirty.clear();
    this.#next = 0;
    return true;
  }

  #run(entry: Entry): void {
    const { counters, context } = this;
    const { tracker } = this.graph;
    if ((entry.state & SUSPENDED) !== 0) this.#unsuspend(entry);
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
      if (abandoned === "order") entry.mark();
      else this.#suspend(entry, abandoned);
    } else if (failure !== undefined) {
      this.#fail(entry, failure.error);
    } else {
      counters.runs++;
      this.#accept(entry, this.#takeStatus(entry, result as R, discarded), discarded);
    }
  }

  #execute(entry: Entry, input: I): R {
    const { strict } = this.graph.options;
    if (strict === undefined) return this.#call(input);
    return strict.execute({ node: this, entry, input, transform: (given) => this.#call(given) });
  }

  #call(input: I): R {
    return this.#transform(this.context, input, this.#declared?.read(input) as never);
  }

  /** The value of an entry's input as of now. */
  inputOf(entry: Entry): I {
    const primary = this.#primary;
    return primary === undefined ? (UNIT as I) : (primary.valueOf(entry.input) as I);
  }

  #takeStatus(entry: Entry, result: R, discarded: boolean): R {
    if (this.#status === undefined) return result;
    const { status, output } = (result ?? {}) as StatusResult<R>;
    const keeps = discarded && (entry.state & SETTLED) !== 0;
    if (!keeps) this.#status.put(entry.input.key, this.inputOf(entry), status);
    return output;
  }

  #accept(entry: Entry, result: R, discarded: boolean): void {
    if (discarded) {
      this.counters.discarded++;
      if ((entry.state & SETTLED) !== 0 || this.isNothing(result)) return;
    }
    entry.state |= SETTLED;
    try {
      if (!this.apply(entry, result)) this.counters.unchanged++;
    } catch (error) {
      this.#fail(entry, error);
      return;
    }
    if ((entry.state & FAILED) !== 0) this.#recover(entry);
  }

  // ---- suspension and failure ----

  #suspend(entry: Entry, source: AnyNode): void {
    entry.state |= SUSPENDED;
    this.#suspended.set(entry, source);
  }

  #unsuspend(entry: Entry): void {
    entry.state &= ~SUSPENDED;
    this.#suspended.get(entry)?.awaiting.delete(entry);
    this.#suspended.delete(entry);
  }

  #fail(entry: Entry, cause: unknown): void {
    const { key } = entry.input;
    const error = transformationError(this.name, key, cause);
    this.counters.failed++;
    entry.state |= FAILED;
    this.#failures.set(entry, error);
    if (this.#onFailure === "delete") this.removeOutput(entry);
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
    if (row?.value === undefined) return this.addRow(key, value, entry);
    if (row.owner !== entry) {
      this.#contest(key, row.owner as Entry, entry);
      row.owner = entry;
    }
    if (!this.kind.equals(row.value, value)) this.updateRow(row, value);
    return row;
  }

  /** Removes a row that `entry` no longer yields, unless it belongs to another by now. */
  protected dropOutput(entry: Entry, row: Row<unknown>): void {
    if (row.owner !== entry) return;
    this.removeRow(row as Row<O>);
    const claims = this.#contested?.get(row.key);
    if (claims === undefined) return;
    claims.delete(entry);
    for (const other of claims) other.mark();
  }

  protected removeOutput(entry: Entry): void {
    const { output } = entry;
    entry.output = undefined;
    if (output === undefined) return;
    if (Array.isArray(output)) for (const row of output) this.dropOutput(entry, row);
    else this.dropOutput(entry, output);
  }

  #contest(key: string, former: Entry, entry: Entry): void {
    this.#contested ??= new Map();
    const claims = this.#contested.get(key);
    if (claims === undefined) this.#contested.set(key, new Set([former, entry]));
    else claims.add(former).add(entry);
  }

  /**
   * A key that moved from one input to another within the turn was contested for a moment, whichever
   * ran first; one that two inputs still yield now is an error. Such keys are remembered, so that a
   * claimant runs again when the owner lets go.
   */
  #settleContested(): void {
    if (this.#contested === undefined) return;
    for (const [key, claims] of this.#contested) {
      const before = claims.size;
      for (const entry of claims) if (!yields(entry, key)) claims.delete(entry);
      if (claims.size < 2) this.#contested.delete(key);
      else if (claims.size === before) this.#reportContested(key, claims);
    }
    if (this.#contested.size === 0) this.#contested = undefined;
  }

  #reportContested(key: string, claims: ReadonlySet<Entry>): void {
    const inputs = Array.from(claims, (entry) => entry.input.key).sort();
    this.graph.report(
      new KrtError(
        "KRT_DUPLICATE_OUTPUT",
        `inputs ${inputs.join(" and ")} of ${this.name} yield the same key ${key}`,
        { details: { collection: this.name, key, inputs } },
      ),
    );
  }

  // ---- inspection ----

  #noteCause(entry: Entry, source: AnyNode | undefined, key: string | undefined): void {
    this.#causes ??= new WeakMap();
    const { turn } = this.graph;
    this.#causes.set(entry, { turn, collection: source?.name, key });
  }

  /** Why an entry last ran, where explanations are on. */
  causeOf(entry: Entry): RunCause | undefined {
    return this.#causes?.get(entry);
  }

  get primary(): AnyNode | undefined {
    return this.#primary;
  }

  *entries(): IterableIterator<Entry> {
    for (const entry of this.#entries) if (entry !== undefined) yield entry;
  }

  /** One above the highest slot of an input. */
  get slots(): number {
    return this.#entries.length;
  }

  entryAt(slot: number): Entry | undefined {
    return this.#entries[slot];
  }

  entryOf(key: string): Entry | undefined {
    if (this.#primary === undefined) return this.#entries[0];
    const row = this.#primary.rowAt(key) as Row<unknown> | undefined;
    return row === undefined ? undefined : this.#entries[row.slot];
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

  failureOf(entry: Entry): KrtError | undefined {
    return this.#failures.get(entry);
  }

  waitsFor(entry: Entry): AnyNode | undefined {
    return this.#suspended.get(entry);
  }

  protected release(): void {
    for (const entry of this.entries()) {
      this.#unsuspend(entry);
      this.#recover(entry);
      entry.state |= GONE;
      releaseFrom(entry.links);
      entry.links = undefined;
      this.context.endScope(entry);
    }
    this.#declared?.release();
    this.#entries.length = 0;
    this.#dirty.clear();
    this.context.dispose();
  }
}

function yields(entry: Entry, key: string): boolean {
  if ((entry.state & GONE) !== 0) return false;
  const { output } = entry;
  if (Array.isArray(output)) return output.some((row) => row.key === key);
  return output?.key === key;
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
