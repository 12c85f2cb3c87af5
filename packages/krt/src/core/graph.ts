import type { Collection, CollectionOptions } from "../collection.ts";
import { KrtError } from "../errors.ts";
import type { Diagnostic, Instrumentation } from "../instrumentation.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Scope } from "../scope.ts";
import type { Group } from "../secondary-index.ts";
import { Buffer } from "./buffer.ts";
import { Delivery } from "./delivery.ts";
import { Edge, type EdgeType } from "./edge.ts";
import { FunctionIds } from "./function-ids.ts";
import { Gate } from "./gate.ts";
import type { IndexStore } from "./index-store.ts";
import { LevelQueue } from "./level-queue.ts";
import { liftAbove } from "./levels.ts";
import type { AnyNode } from "./node.ts";
import type { Owner } from "./scope.ts";
import type { StrictMode } from "./strict.ts";
import { Tracker } from "./tracker.ts";

/** Options of a runtime with nothing left open. */
export interface GraphOptions {
  readonly scheduler: Scheduler;
  readonly onError: (error: KrtError) => void;
  readonly onDiagnostic: ((diagnostic: Diagnostic) => void) | undefined;
  readonly instrumentation: Instrumentation | undefined;
  readonly sliceMs: number;
  readonly maxTurnMs: number;
  readonly highWater: number;
  readonly timing: boolean;
  readonly explain: boolean;
  readonly strict: StrictMode | undefined;
}

/** What nodes have made for them without knowing the classes that make it. */
export interface Factories {
  group<K, T>(
    owner: Owner,
    index: IndexStore<K, T>,
    options: CollectionOptions,
  ): Collection<Group<K, T>>;
  scope(owner: Owner): Scope;
}

/** A turn that may stop between any two keys. `feed` does its writes; false means that there are more. */
interface SlicedJob {
  readonly feed: () => boolean;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

type Deferred = readonly (() => void)[] | SlicedJob;

/** How to undo one write of a transaction. */
type Undo = () => void;

/**
 * All nodes of a runtime and the turn they are in.
 *
 * A turn is in one of these stages: *writing* (`#depth > 0`), *propagating* (nodes are processed, user
 * functions run, nothing may be written), *paused* (between two slices; readers see the last commit),
 * *sweeping* (committed; rows are cleared of the turn). A turn that never pauses goes through all of
 * them inside the call that ended the outermost batch.
 *
 * Invariants:
 * - Between turns the queue and `touchedNodes` are empty.
 * - `#open` holds from the first pause of a turn to the end of its sweep. Meanwhile, and while a handler
 *   is on the stack, writes are put into `#deferred`, in order, and carried out afterwards.
 * - `turn` is the number of the open or last turn. It never repeats.
 */
export class Graph {
  readonly options: GraphOptions;
  readonly nodes = new Set<AnyNode>();
  readonly queue = new LevelQueue<AnyNode>();
  readonly touchedNodes = new Buffer<AnyNode>();
  readonly tracker: Tracker;
  readonly delivery: Delivery;
  readonly functionIds = new FunctionIds();
  /** The turn of each queued batch, where instrumentation asks for it. */
  readonly turns: WeakMap<object, number> | undefined;
  turn = 0;
  paused = false;
  readonly factories: Factories;
  /** Told when an input fails, and with `undefined` when it no longer does. */
  onFailure: ((node: AnyNode, key: string, error: KrtError | undefined) => void) | undefined;
  #lastId = 0;
  #depth = 0;
  #propagating = false;
  #open = false;
  #job: SlicedJob | undefined;
  #fed = true;
  /** Number of touched nodes that are swept. */
  #swept = 0;
  #deadline = Number.POSITIVE_INFINITY;
  #expired = false;
  #deferred: Deferred[] = [];
  #group: (() => void)[] | undefined;
  #flushing = false;
  #afterTurn: (() => void)[] = [];
  #undo: Undo[] | undefined;
  #idle: Gate | undefined;
  #disposed = false;

  constructor(options: GraphOptions, factories: Factories) {
    this.options = options;
    this.factories = factories;
    this.turns = options.instrumentation?.deliver === undefined ? undefined : new WeakMap();
    this.tracker = new Tracker(this);
    this.delivery = new Delivery(this);
  }

  nextId(): number {
    return ++this.#lastId;
  }

  get lastId(): number {
    return this.#lastId;
  }

  now(): number {
    return this.options.scheduler.now();
  }

  // ---- guards ----

  checkOpen(): void {
    if (this.#disposed) throw new KrtError("KRT_DISPOSED", "the runtime was disposed");
  }

  /** Refuses writes to collections that have ended, and {@link guardWrite}. */
  guardSource(node: AnyNode): void {
    this.guardWrite(node.name);
    if (!node.disposed) return;
    throw new KrtError("KRT_DISPOSED", `${node.name} was disposed and cannot be written`, {
      details: { collection: node.name },
    });
  }

  /** Refuses changes of the graph from inside transformations and other functions given to it. */
  guardWrite(name: string): void {
    if (!this.#propagating) return;
    throw new KrtError("KRT_WRITE", `${name} was changed from inside a transformation`, {
      details: { collection: name },
    });
  }

  guardRead(node: AnyNode): void {
    if (this.options.strict !== undefined && this.tracker.running) {
      this.options.strict.untrackedRead(node);
    }
  }

  // ---- edges ----

  connect(source: AnyNode, reader: AnyNode, type: EdgeType): Edge {
    if (source.graph !== this) {
      throw new KrtError("KRT_FOREIGN", `collection ${source.name} belongs to another runtime`, {
        details: { collection: source.name },
      });
    }
    let edge = reader.inputs.find((one) => one.source === source && one.type === type);
    if (edge === undefined) {
      if (source.level >= reader.level) liftAbove(reader, source);
      edge = new Edge(source, reader, type);
      reader.inputs.push(edge);
      source.readers.push(edge);
    }
    edge.count++;
    return edge;
  }

  /** Takes back one reason for an edge, or all of them. */
  disconnect(edge: Edge, wholly = false): void {
    edge.count = wholly ? 0 : edge.count - 1;
    if (edge.count > 0) return;
    const { source, reader } = edge;
    source.readers.splice(source.readers.indexOf(edge), 1);
    reader.inputs.splice(reader.inputs.indexOf(edge), 1);
  }

  // ---- writing ----

  /** Whether a batch is on the stack, whose turn has not begun. */
  get isWriting(): boolean {
    return this.#depth > 0 && !this.#propagating;
  }

  /** Whether a sliced turn is between two slices, or not yet swept. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Whether a write made now has to wait for the end of a handler call or of a sliced turn. */
  get defers(): boolean {
    return this.#depth === 0 && (this.#open || this.delivery.onStack > 0);
  }

  /** Keeps a write for later, as part of the batch on the stack if there is one. */
  defer(write: () => void): void {
    if (this.#group !== undefined) this.#group.push(write);
    else this.#deferred.push([write]);
  }

  begin(): void {
    this.#depth++;
  }

  end(): void {
    if (--this.#depth > 0) return;
    this.#runTurn();
  }

  enqueue(node: AnyNode): void {
    this.queue.push(node);
  }

  /**
   * Brings a new node into the graph, with the writes of its initial objects. Inside a transformation it
   * joins the turn that is under way; inside a sliced turn that is paused it has to wait for its end.
   */
  construct(node: AnyNode, init?: () => void): void {
    if (this.#open && this.#depth === 0 && !this.#propagating) {
      this.defer(() => this.construct(node, init));
      return;
    }
    if (node.disposed) return;
    if (this.#propagating) {
      init?.();
      this.queue.push(node);
      return;
    }
    this.begin();
    try {
      init?.();
      this.queue.push(node);
    } finally {
      this.end();
    }
  }

  /** Carries out a write to a source now, or as soon as the open turn allows. */
  change(node: AnyNode, write: () => void): void {
    this.guardSource(node);
    if (this.defers) {
      this.defer(() => {
        if (!node.disposed) write();
      });
      return;
    }
    this.begin();
    try {
      write();
    } finally {
      this.end();
    }
  }

  batch<R>(write: () => R, name = "a batch"): R {
    this.guardWrite(name);
    if (this.defers) return this.#deferBatch(write, false);
    this.begin();
    try {
      return write();
    } finally {
      this.end();
    }
  }

  /** A batch whose writes are undone when it throws. Undone, too, inside an outer batch. */
  transaction<R>(write: () => R): R {
    this.guardWrite("a transaction");
    if (this.defers) return this.#deferBatch(write, true);
    this.begin();
    const outer = this.#undo;
    const own: Undo[] = [];
    this.#undo = own;
    try {
      const result = write();
      outer?.push(...own);
      return result;
    } catch (error) {
      this.#undo = undefined;
      for (const undo of own.reverse()) undo();
      throw error;
    } finally {
      this.#undo = outer;
      this.end();
    }
  }

  /** Whether writes have to say how to undo them. */
  get recordsUndo(): boolean {
    return this.#undo !== undefined;
  }

  recordUndo(undo: Undo): void {
    this.#undo?.push(undo);
  }

  #deferBatch<R>(write: () => R, undo: boolean): R {
    const outer = this.#group;
    const group: (() => void)[] = outer ?? [];
    const mark = group.length;
    this.#group = group;
    try {
      return write();
    } catch (error) {
      if (undo) group.length = mark;
      throw error;
    } finally {
      this.#group = outer;
      if (outer === undefined && group.length > 0) this.#deferred.push(group);
    }
  }

  /** Runs a turn in slices. Its writes are undone when `feed` throws. */
  sliced(feed: () => boolean): Promise<void> {
    this.guardWrite("a sliced turn");
    this.checkOpen();
    return new Promise((resolve, reject) => {
      this.#deferred.push({ feed, resolve, reject });
      this.flushDeferred();
    });
  }

  /** Carries out writes that had to wait, one turn per batch. */
  flushDeferred(): void {
    if (this.#flushing || this.#deferred.length === 0) return;
    this.#flushing = true;
    try {
      while (!this.#open && this.#depth === 0 && this.delivery.onStack === 0) {
        const next = this.#deferred.shift();
        if (next === undefined) break;
        if (Array.isArray(next)) this.#runGroup(next);
        else this.#runJob(next as SlicedJob);
      }
    } finally {
      this.#flushing = false;
    }
    this.delivery.kick();
  }

  #runGroup(writes: readonly (() => void)[]): void {
    this.begin();
    for (const write of writes) {
      try {
        write();
      } catch (error) {
        this.report(KrtError.from(error));
      }
    }
    this.end();
  }

  // ---- the turn ----

  /** Whether the slice is used up. Asked between keys; once true it stays true until the next slice. */
  outOfTime(): boolean {
    if (this.#deadline === Number.POSITIVE_INFINITY) return false;
    this.#expired ||= this.now() >= this.#deadline;
    return this.#expired;
  }

  #startSlice(lengthMs: number): void {
    this.#expired = false;
    this.#deadline = lengthMs === Number.POSITIVE_INFINITY ? lengthMs : this.now() + lengthMs;
  }

  #runTurn(): void {
    if (this.touchedNodes.count > 0 || !this.queue.isEmpty) {
      this.turn++;
      this.options.instrumentation?.turnStart?.(this.turn);
      this.#startSlice(this.options.maxTurnMs);
      this.#step();
    }
    if (!this.#open) this.#finish();
  }

  #runJob(job: SlicedJob): void {
    this.#job = job;
    this.#fed = false;
    this.turn++;
    this.options.instrumentation?.turnStart?.(this.turn);
    this.#startSlice(this.options.sliceMs);
    this.#step();
    if (!this.#open) this.#finish();
  }

  /** One slice: writes, then propagation, then commit and sweep; pauses where time runs out. */
  #step(): void {
    if (!this.#fed && !this.#feed()) return this.#pause(true);
    if (!this.#propagate()) return this.#pause(true);
    this.#commit();
    if (!this.#sweep()) return this.#pause(false);
    this.#open = false;
  }

  #feed(): boolean {
    const job = this.#job;
    if (job === undefined) return true;
    this.#depth++;
    try {
      this.#fed = job.feed();
    } catch (error) {
      const { touchedNodes } = this;
      for (let i = 0; i < touchedNodes.count; i++) touchedNodes.at(i).undoTurn();
      this.#fed = true;
      this.#job = undefined;
      job.reject(error);
    } finally {
      this.#depth--;
    }
    return this.#fed;
  }

  #propagate(): boolean {
    const { instrumentation, timing } = this.options;
    this.#propagating = true;
    try {
      for (let node = this.queue.pop(); node !== undefined; node = this.queue.pop()) {
        if (node.disposed) continue;
        const start = timing ? this.now() : 0;
        instrumentation?.nodeStart?.(node, this.turn);
        const done = this.#process(node);
        instrumentation?.nodeEnd?.(node, this.turn);
        if (timing) node.counters.timeMs += this.now() - start;
        if (done) continue;
        this.queue.push(node);
        if (this.#expired) return false;
      }
      return true;
    } finally {
      this.#propagating = false;
    }
  }

  #process(node: AnyNode): boolean {
    try {
      return node.process();
    } catch (error) {
      this.reportCallback("a function of the collection", node.name, error);
      return true;
    }
  }

  #commit(): void {
    const { touchedNodes } = this;
    const { instrumentation } = this.options;
    if (instrumentation?.turnEnd !== undefined) {
      const nodes = Array.from({ length: touchedNodes.count }, (_, i) => touchedNodes.at(i));
      instrumentation.turnEnd(this.turn, nodes);
    }
    for (let i = 0; i < touchedNodes.count; i++) touchedNodes.at(i).commit();
    this.#swept = 0;
    if (this.#job === undefined) return;
    this.#job.resolve();
    this.#job = undefined;
  }

  #sweep(): boolean {
    const { touchedNodes } = this;
    while (this.#swept < touchedNodes.count) {
      if (!touchedNodes.at(this.#swept).sweep()) return false;
      this.#swept++;
    }
    touchedNodes.clear();
    return true;
  }

  #pause(hidden: boolean): void {
    this.#open = true;
    this.paused = hidden;
    this.delivery.kick();
    this.options.scheduler.macrotask(() => {
      this.paused = false;
      this.#startSlice(this.options.sliceMs);
      this.#step();
      if (!this.#open) this.#finish();
    });
  }

  /** What may happen between turns: hooks, writes that waited, delivery. */
  #finish(): void {
    while (this.#afterTurn.length > 0) {
      for (const hook of this.#afterTurn.splice(0)) hook();
    }
    this.flushDeferred();
    if (!this.#flushing) this.delivery.kick();
  }

  /** Calls `hook` between turns: after the open one, or the one that is about to begin. */
  afterTurn(hook: () => void): void {
    this.#afterTurn.push(hook);
  }

  /** Calls user functions outside of a turn, under the same prohibition to write as in one. */
  examine<R>(run: () => R): R {
    this.guardWrite("an examination");
    if (this.#open || this.#depth > 0) throw new KrtError("KRT_WRITE", "a turn is open");
    this.#propagating = true;
    try {
      return run();
    } finally {
      this.#propagating = false;
      this.#finish();
    }
  }

  // ---- idleness ----

  get isIdle(): boolean {
    return (
      !this.#open &&
      this.#depth === 0 &&
      !this.#propagating &&
      this.#deferred.length === 0 &&
      this.delivery.idle
    );
  }

  checkIdle(): void {
    if (this.#idle === undefined || !this.isIdle) return;
    const gate = this.#idle;
    this.#idle = undefined;
    gate.open();
  }

  whenIdle(signal?: AbortSignal): Promise<void> {
    this.#idle ??= new Gate();
    const waiting = this.#idle.wait(signal === undefined ? {} : { signal });
    this.options.scheduler.microtask(() => this.checkIdle());
    return waiting;
  }

  // ---- errors ----

  report(error: KrtError): void {
    this.options.onError(error);
  }

  reportCallback(what: string, collection: string, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    const details = { collection };
    this.report(
      new KrtError("KRT_CALLBACK", `${what} of ${collection} threw: ${text}`, {
        details,
        cause: error,
      }),
    );
  }

  /** Ends the runtime once its collections are gone: nothing can be created any more. */
  close(): void {
    this.#disposed = true;
    this.#idle?.open();
  }
}
