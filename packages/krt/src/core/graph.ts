import { KrtError } from "../errors.ts";
import { Delivery } from "./delivery.ts";
import { Edge, type EdgeType } from "./edge.ts";
import { FunctionIds } from "./function-ids.ts";
import type { Factories, GraphOptions } from "./graph-options.ts";
import { Latch } from "./latch.ts";
import { raiseLevel } from "./levels.ts";
import type { AnyNode } from "./node.ts";
import { PendingWrites } from "./pending-writes.ts";
import { Tracker } from "./tracker.ts";
import { Turn } from "./turn.ts";

/**
 * All nodes of a runtime, and what moves them: `writes` lets changes in, `turn` propagates them, `tracker`
 * follows the run on the stack, `delivery` calls handlers. Everything that lasts belongs to a graph;
 * two graphs share nothing.
 */
export class Graph {
  readonly options: GraphOptions;
  readonly factories: Factories;
  readonly nodes = new Set<AnyNode>();
  readonly writes: PendingWrites;
  readonly turn: Turn;
  readonly tracker: Tracker;
  readonly delivery: Delivery;
  readonly functionIds = new FunctionIds();
  /** The turn of each queued batch, where instrumentation asks for it. */
  readonly turnOf: WeakMap<object, number> | undefined;
  /** Whether instrumentation of node processing is attached. */
  readonly observed: boolean;
  /** Called when an input fails, and with `undefined` when it no longer does. */
  onFailure: ((node: AnyNode, key: string, error: KrtError | undefined) => void) | undefined;
  #lastId = 0;
  #idle: Latch | undefined;
  #disposed = false;

  constructor(options: GraphOptions, factories: Factories) {
    this.options = options;
    this.factories = factories;
    this.turnOf = options.instrumentation?.deliver === undefined ? undefined : new WeakMap();
    this.observed = options.timing || options.instrumentation !== undefined;
    this.writes = new PendingWrites(this);
    this.turn = new Turn(this);
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
    if (!this.turn.isPropagating) return;
    throw new KrtError("KRT_WRITE", `${name} was changed from inside a transformation`, {
      details: { collection: name },
    });
  }

  /** Has readers see what was written, and refuses reads that are not tracked where that is asked for. */
  guardRead(node: AnyNode): void {
    this.writes.pay();
    if (this.options.strict !== undefined && this.tracker.running) {
      this.options.strict.untrackedRead(node);
    }
  }

  // ---- shape ----

  /** Counts one more reason for an edge; the first one creates it and raises levels. Throws `KRT_CYCLE`. */
  connect(source: AnyNode, reader: AnyNode, type: EdgeType): Edge {
    if (source.graph !== this) {
      throw new KrtError("KRT_FOREIGN", `collection ${source.name} belongs to another runtime`, {
        details: { collection: source.name },
      });
    }
    let edge = reader.inputs.find((one) => one.source === source && one.type === type);
    if (edge === undefined) {
      if (source.level >= reader.level) raiseLevel(reader, source);
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

  /**
   * Brings a new node into the graph, with the writes of its initial objects. Inside a transformation it
   * joins the turn that is under way; inside a sliced turn that is paused it has to wait for its end.
   */
  construct(node: AnyNode, init?: () => void): void {
    const { turn, writes } = this;
    if (turn.isOpen && !turn.isPropagating && !writes.isWriting) {
      writes.defer(() => this.construct(node, init));
      return;
    }
    if (node.disposed) return;
    if (turn.isPropagating) {
      init?.();
      turn.enqueue(node);
      return;
    }
    writes.begin();
    try {
      init?.();
      turn.enqueue(node);
    } catch (error) {
      turn.after(() => node.dispose());
      throw error;
    } finally {
      writes.endNow();
    }
  }

  // ---- idleness ----

  get isIdle(): boolean {
    const { turn } = this;
    return !turn.isOpen && !turn.isPropagating && this.writes.isIdle && this.delivery.idle;
  }

  checkIdle(): void {
    if (this.#idle === undefined || !this.isIdle) return;
    const gate = this.#idle;
    this.#idle = undefined;
    gate.open();
  }

  whenIdle(signal?: AbortSignal): Promise<void> {
    this.#idle ??= new Latch();
    const waiting = this.#idle.wait(signal === undefined ? {} : { signal });
    this.options.scheduler.microtask(() => this.checkIdle());
    return waiting;
  }

  // ---- errors ----

  /** Reports an error to `onError`. What `onError` throws becomes an uncaught exception, so that it cannot be lost. */
  report(error: KrtError): void {
    try {
      this.options.onError(error);
    } catch (failure) {
      this.options.scheduler.macrotask(() => {
        throw failure;
      });
    }
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
