import { KrtError } from "../errors.ts";
import { Buffer } from "./buffer.ts";
import type { Graph } from "./graph.ts";
import { LevelQueue } from "./level-queue.ts";
import type { AnyNode } from "./node.ts";

/** A turn that may stop between any two keys. `feed` does its writes; false means that there are more. */
export interface SlicedJob {
  readonly feed: () => boolean;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The turn a graph is in, or the last one.
 *
 * Its stages: *feeding* (sliced jobs only: their writes), *propagating* (nodes are processed, user
 * functions run, nothing may be written), *committed and sweeping* (rows are cleared of the turn). A turn
 * that never runs out of time goes through all of them within one call. Otherwise it *pauses* between
 * any two keys and continues after a round of the event loop.
 *
 * Invariants:
 * - Between turns the queue and `touched` are empty.
 * - `touched` has the nodes that changed or were processed, each once, until they are swept.
 * - `isOpen` holds from the first pause to the end of the sweep; writes wait meanwhile.
 * - `paused` holds in a pause before the commit; readers outside see the last commit meanwhile.
 * - `number` never repeats.
 */
export class Turn {
  readonly #graph: Graph;
  readonly queue = new LevelQueue<AnyNode>();
  readonly touched = new Buffer<AnyNode>();
  number = 0;
  paused = false;
  #propagating = false;
  #open = false;
  #job: SlicedJob | undefined;
  #fed = true;
  /** Number of touched nodes that are swept. */
  #swept = 0;
  #deadline = Number.POSITIVE_INFINITY;
  #expired = false;
  #hooks: (() => void)[] = [];

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  get isPropagating(): boolean {
    return this.#propagating;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  enqueue(node: AnyNode): void {
    this.queue.push(node);
  }

  /** Whether the slice is used up. Asked between keys; once true it stays true until the next slice. */
  outOfTime(): boolean {
    if (this.#deadline === Number.POSITIVE_INFINITY) return false;
    this.#expired ||= this.#graph.now() >= this.#deadline;
    return this.#expired;
  }

  #startSlice(lengthMs: number): void {
    this.#expired = false;
    this.#deadline =
      lengthMs === Number.POSITIVE_INFINITY ? lengthMs : this.#graph.now() + lengthMs;
  }

  /** Propagates what was written, if anything was. */
  run(): void {
    if (this.touched.count > 0 || !this.queue.isEmpty) this.#begin(this.#graph.options.maxTurnMs);
    if (!this.#open) this.#finish();
  }

  /** Runs a job as a turn of its own. */
  runJob(job: SlicedJob): void {
    this.#job = job;
    this.#fed = false;
    this.#begin(this.#graph.options.sliceMs);
    if (!this.#open) this.#finish();
  }

  #begin(sliceMs: number): void {
    this.number++;
    this.#graph.options.instrumentation?.turnStart?.(this.number);
    this.#startSlice(sliceMs);
    this.#step();
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
    try {
      this.#fed = this.#graph.writes.within(job.feed);
    } catch (error) {
      for (let i = 0; i < this.touched.count; i++) this.touched.at(i).undoTurn();
      this.#fed = true;
      this.#job = undefined;
      job.reject(error);
    }
    return this.#fed;
  }

  #propagate(): boolean {
    const { queue } = this;
    const { observed } = this.#graph;
    this.#propagating = true;
    for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
      if (node.disposed || (observed ? this.#observe(node) : this.#process(node))) continue;
      queue.push(node);
      if (this.#expired) {
        this.#propagating = false;
        return false;
      }
    }
    this.#propagating = false;
    return true;
  }

  #observe(node: AnyNode): boolean {
    const { instrumentation, timing } = this.#graph.options;
    const start = timing ? this.#graph.now() : 0;
    instrumentation?.nodeStart?.(node, this.number);
    const done = this.#process(node);
    instrumentation?.nodeEnd?.(node, this.number);
    if (timing) node.counters.timeMs += this.#graph.now() - start;
    return done;
  }

  /** Catches everything that user functions throw: a turn always runs to its end. */
  #process(node: AnyNode): boolean {
    try {
      return node.process();
    } catch (error) {
      this.#graph.reportCallback("a function of the collection", node.name, error);
      return true;
    }
  }

  #commit(): void {
    const { touched } = this;
    const { instrumentation } = this.#graph.options;
    if (instrumentation?.turnEnd !== undefined) {
      const nodes = Array.from({ length: touched.count }, (_, i) => touched.at(i));
      instrumentation.turnEnd(this.number, nodes);
    }
    for (let i = 0; i < touched.count; i++) touched.at(i).commit();
    this.#swept = 0;
    if (this.#job === undefined) return;
    this.#job.resolve();
    this.#job = undefined;
  }

  #sweep(): boolean {
    const { touched } = this;
    while (this.#swept < touched.count) {
      if (!touched.at(this.#swept).sweep()) return false;
      this.#swept++;
    }
    touched.clear();
    return true;
  }

  #pause(beforeCommit: boolean): void {
    this.#open = true;
    this.paused = beforeCommit;
    this.#graph.delivery.kick();
    this.#graph.options.scheduler.macrotask(() => {
      this.paused = false;
      this.#startSlice(this.#graph.options.sliceMs);
      this.#step();
      if (!this.#open) this.#finish();
    });
  }

  /** What may happen between turns: hooks, writes that waited, delivery. */
  #finish(): void {
    while (this.#hooks.length > 0) {
      for (const hook of this.#hooks.splice(0)) hook();
    }
    this.#graph.writes.flush();
  }

  /** Calls hooks that were left outside of a turn. */
  runHooks(): void {
    if (this.#propagating || this.#open || this.#graph.writes.isWriting) return;
    if (this.#hooks.length > 0) this.#finish();
  }

  /** Calls `hook` between turns: after the open one, or the one that is about to begin. */
  after(hook: () => void): void {
    this.#hooks.push(hook);
  }

  /** Calls user functions outside of a turn, under the same prohibition to write as in one. */
  examine<R>(run: () => R): R {
    if (this.#propagating || this.#open || this.#graph.writes.isWriting) {
      throw new KrtError("KRT_WRITE", "a turn is open");
    }
    this.#propagating = true;
    try {
      return run();
    } finally {
      this.#propagating = false;
      this.#finish();
    }
  }
}
