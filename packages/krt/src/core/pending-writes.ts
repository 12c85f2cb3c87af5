import { KrtError } from "../errors.ts";
import type { Graph } from "./graph.ts";
import type { AnyNode } from "./node.ts";
import { refusePromise } from "./result.ts";
import type { SlicedJob } from "./turn.ts";

type Write = () => void;

/** Writes of a deferred batch. Those of a transaction within it stand in a list of their own. */
type Step = Write | readonly Step[];

/** A batch whose time has not come, or a sliced job. */
type Deferred = readonly Step[] | SlicedJob;

/**
 * The way into a graph: batches, transactions, and writes that have to wait.
 *
 * Invariants:
 * - While `#depth` is above 0 a batch is on the stack: its writes have changed rows of sources, and
 *   nothing was propagated. The end of the outermost batch runs the turn.
 * - A write made while a handler is on the stack, or a sliced turn is open, is kept in `#deferred`, with
 *   the batch it belongs to (`#group`, while that is on the stack). They are carried out in order, each
 *   batch in a turn of its own, as soon as neither is the case. A deferred transaction is a transaction
 *   again when it is carried out: what fails then undoes all of it.
 * - `#undo`, while a transaction is on the stack, has a way back for every write since it began.
 * - Where turns are lazy, `#owed` holds from a write to the turn that takes it in: at the end of the task, or with the first read,
 *   batch or new collection before it. A microtask to that end is scheduled while it holds.
 */
export class PendingWrites {
  readonly #graph: Graph;
  #depth = 0;
  #deferred: Deferred[] = [];
  #group: Step[] | undefined;
  /** Whether `#group` belongs to a transaction. */
  #groupIsAtomic = false;
  #flushing = false;
  #undo: Write[] | undefined;
  #owed = false;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /** Whether a batch is on the stack, whose turn has not begun. */
  get isWriting(): boolean {
    return this.#depth > 0 && !this.#graph.turn.isPropagating;
  }

  /** Whether nothing is being written, and nothing waits to be. */
  get isIdle(): boolean {
    return this.#depth === 0 && this.#deferred.length === 0 && !this.#owed;
  }

  /** Whether a write made now has to wait for the end of a handler call or of a sliced turn. */
  get defers(): boolean {
    return this.#depth === 0 && (this.#graph.turn.isOpen || this.#graph.delivery.onStack > 0);
  }

  /** Keeps a write for later, as part of the batch on the stack if there is one. */
  defer(write: Write): void {
    if (this.#group !== undefined) this.#group.push(write);
    else this.#deferred.push([write]);
  }

  begin(): void {
    this.#depth++;
  }

  end(): void {
    if (--this.#depth > 0) return;
    if (this.#graph.options.lazy) this.#owe();
    else this.#graph.turn.run();
  }

  /** Ends a batch whose turn is to be made at once, whatever turns are. */
  endNow(): void {
    if (--this.#depth > 0) return;
    this.#owed = false;
    this.#graph.turn.run();
  }

  #owe(): void {
    if (this.#owed) return;
    this.#owed = true;
    this.#graph.options.scheduler.microtask(this.pay);
  }

  /** Makes the turn of what was written, if it was not made yet and may be. */
  readonly pay = (): void => {
    if (!this.#owed || this.#depth > 0) return;
    const { turn } = this.#graph;
    if (turn.isPropagating || turn.isOpen) return;
    this.#owed = false;
    turn.run();
  };

  /** Runs writes without a turn of their own. */
  within<R>(write: () => R): R {
    this.#depth++;
    try {
      return write();
    } finally {
      this.#depth--;
    }
  }

  /** Carries out a write to a source now, or as soon as the open turn allows. */
  change(node: AnyNode, write: Write): void {
    this.#graph.guardSource(node);
    if (this.defers) {
      const atomic = this.#groupIsAtomic;
      this.defer(() => {
        if (atomic) this.#graph.guardSource(node);
        if (!node.disposed) write();
      });
      return;
    }
    this.#depth++;
    try {
      write();
    } finally {
      this.end();
    }
  }

  batch<R>(write: () => R): R {
    this.#graph.guardWrite("a batch");
    this.pay();
    if (this.defers) return this.#deferBatch(write, false);
    this.#depth++;
    try {
      return write();
    } finally {
      this.end();
    }
  }

  /** A batch whose writes are undone when it throws. Undone, too, inside an outer batch. */
  transaction<R>(write: () => R): R {
    this.#graph.guardWrite("a transaction");
    this.pay();
    if (this.defers) return this.#deferBatch(write, true);
    this.#depth++;
    const outer = this.#undo;
    const own: Write[] = [];
    this.#undo = own;
    try {
      const result = write();
      refusePromise(result, "a transaction");
      if (outer !== undefined) for (const undo of own) outer.push(undo);
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

  recordUndo(undo: Write): void {
    this.#undo?.push(undo);
  }

  #deferBatch<R>(write: () => R, atomic: boolean): R {
    const outer = this.#group;
    const outerIsAtomic = this.#groupIsAtomic;
    const group: Step[] = atomic ? [] : (outer ?? []);
    this.#group = group;
    this.#groupIsAtomic ||= atomic;
    let failed = true;
    try {
      const result = write();
      if (atomic) refusePromise(result, "a transaction");
      failed = false;
      return result;
    } finally {
      this.#group = outer;
      this.#groupIsAtomic = outerIsAtomic;
      if (group !== outer && group.length > 0 && !(atomic && failed)) {
        const steps = atomic ? [group] : group;
        if (outer === undefined) this.#deferred.push(steps);
        else for (const step of steps) outer.push(step);
      }
    }
  }

  /** Runs a turn in slices. Its writes are undone when `feed` throws. */
  sliced(feed: () => boolean): Promise<void> {
    this.#graph.guardWrite("a sliced turn");
    this.#graph.checkOpen();
    this.pay();
    return new Promise((resolve, reject) => {
      this.#deferred.push({ feed, resolve, reject });
      this.flush();
    });
  }

  /** Carries out what had to wait, as far as it may now, and has the effects delivered. */
  flush(): void {
    if (this.#flushing) return;
    if (this.#deferred.length === 0) {
      this.#graph.delivery.kick();
      return;
    }
    this.#flushing = true;
    try {
      while (this.#deferred.length > 0 && this.#depth === 0 && !this.defers) {
        const next = this.#deferred.shift();
        if (Array.isArray(next)) this.#runGroup(next);
        else this.#graph.turn.runJob(next as SlicedJob);
      }
    } finally {
      this.#flushing = false;
    }
    this.#graph.delivery.kick();
  }

  #runGroup(steps: readonly Step[]): void {
    this.#depth++;
    for (const step of steps) {
      try {
        if (typeof step === "function") step();
        else this.transaction(() => runAll(step));
      } catch (error) {
        this.#graph.report(KrtError.from(error));
      }
    }
    this.endNow();
  }
}

/** Carries out all steps of a transaction, those of transactions within it included. */
function runAll(steps: readonly Step[]): void {
  for (const step of steps) {
    if (typeof step === "function") step();
    else runAll(step);
  }
}
