import type { Collection, InputCollection, WaitOptions } from "./collection.ts";
import { Graph } from "./core/graph.ts";
import type { Factories } from "./core/graph-options.ts";
import { GroupNode } from "./core/group-node.ts";
import type { AnyNode } from "./core/node.ts";
import { Owner } from "./core/scope.ts";
import { nodeOf } from "./core/tracker.ts";
import type { KrtError } from "./errors.ts";
import { GraphInspector, type Inspector } from "./inspect/inspector.ts";
import type { Instrumentation, RuntimeWarning } from "./instrumentation.ts";
import { kind } from "./kind.ts";
import { resolveRuntimeOptions } from "./options.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Scope } from "./scope.ts";
import { ScopeHandle } from "./scope-handle.ts";
import {
  type AuditFinding,
  type AuditOptions,
  auditGraph,
  scheduleAudits,
} from "./strict/audit.ts";

/** Options of a runtime. */
export interface RuntimeOptions {
  /**
   * Time, microtasks and macrotasks.
   * @default those of this process
   */
  readonly scheduler?: Scheduler;
  /**
   * Gets every error that cannot be thrown to a caller: transformations and handlers that threw, and
   * findings of strict mode.
   * @default rethrown as an uncaught exception, so that no failure goes unseen
   */
  readonly onError?: (error: KrtError) => void;
  /** Gets what is worth knowing and not an error. */
  readonly onWarning?: (diagnostic: RuntimeWarning) => void;
  /** Called at fixed points of every turn. */
  readonly instrumentation?: Instrumentation;
  /**
   * Milliseconds after which delivery and sliced turns yield to the event loop.
   * @default 4
   */
  readonly sliceMs?: number;
  /**
   * Milliseconds after which any turn continues in slices. Its effects are then visible only some time
   * after the write that began it, all at once. Off by default: every turn ends within the write.
   * @default Infinity
   */
  readonly maxTurnMs?: number;
  /**
   * When what was written is propagated. `eager`: before the write, or the outermost batch, returns. `lazy`: with the first read of
   * any collection after it, and at the end of the task (in a microtask) at the latest, so that all writes of a task without a read
   * in between are one turn, and several to one key are one change. Readers see the same either way; handlers get fewer
   * events. A batch, a new collection and `sliced` begin with what was written before propagated.
   * @default "eager"
   */
  readonly turns?: "eager" | "lazy";
  /**
   * Length of a handler's queue that is reported as a diagnostic, and again at each doubling.
   * @default 10000
   */
  readonly highWater?: number;
  /**
   * How transformations are watched. `cheap`: reads without fetch, overlaps of unchecked joins, views that
   * change keys. `full`, for tests and development, as well: each transformation runs twice and must
   * give equal results and fetches, on frozen inputs, without clock, randomness, timers and network,
   * and equalities are checked against the content. Lists and events that readers share are frozen in both, and
   * with `full` all objects in collections as well: writes to them throw where they happen.
   * @default "off"
   */
  readonly strict?: "off" | "cheap" | "full";
  /**
   * Whether the time spent in each collection is measured.
   * @default false
   */
  readonly timing?: boolean;
  /**
   * Whether {@link Inspector.explain} can report why an input last ran.
   * @default false
   */
  readonly explain?: boolean;
  /**
   * Audits some inputs again and again, see {@link Runtime.audit}: finds hidden inputs in production.
   * Off by default.
   */
  readonly audit?: AuditOptions & { readonly everyMs: number };
  /** Name prefix of all collections. */
  readonly prefix?: string;
}

/** An input whose last run threw. */
export interface TransformationFailure {
  /** Unique: the collection's id and the input. */
  readonly key: string;
  readonly collection: string;
  readonly input: string;
  readonly error: KrtError;
}

/**
 * A graph of collections and everything that moves it. Runtimes are independent of each other; a
 * collection can only be used with collections of its own runtime.
 */
export interface Runtime extends Scope {
  /** Number of the last turn. */
  readonly version: number;
  /** The inputs whose transformation throws at present. Is updated one turn after the failure. */
  readonly errors: Collection<TransformationFailure>;
  /**
   * Carries out all writes of `write` in one turn, which ends before `batch` returns. Sources show what
   * was written at once, everything derived when the outermost batch ends. What was written before a
   * throw stays.
   */
  batch<R>(write: () => R): R;
  /**
   * A batch whose writes are undone when it throws, also inside another batch. In a handler its writes
   * are made after it, all or none: what fails then is reported. Refuses a promise (`KRT_ASYNC`).
   */
  transaction<R>(write: () => R): R;
  /**
   * A batch whose turn yields to the event loop. Readers see the state from before until all of it is
   * done. Writes made meanwhile by others wait. Rejects, with nothing written, when `write` throws.
   */
  sliced(write: () => void): Promise<void>;
  /**
   * Resolves when no turn is open, no write waits, and no handler has anything that could be delivered;
   * handlers whose promise is pending are not waited for.
   */
  settled(options?: WaitOptions): Promise<void>;
  /**
   * Runs the transformations of some inputs again, chosen at random, and compares: a difference is a
   * dependency that was not fetched. Reports each as `KRT_STRICT_STALE` and returns them. Only between
   * turns; costs the runs and leaves no traces.
   */
  audit(options?: AuditOptions): AuditFinding[];
  /** A read-only view of the graph and its causes. */
  inspect(): Inspector;
}

/** Makes an empty runtime. Throws `KRT_INVALID_OPTION`. */
export function createRuntime(options: RuntimeOptions = {}): Runtime {
  const factories: Factories = {
    group: (owner, index, groupOptions) => {
      const node = new GroupNode(owner, index, groupOptions);
      graph.construct(node);
      return node;
    },
    scope: (owner) => new ScopeHandle(new Owner(graph, owner, undefined)),
  };
  const graph: Graph = new Graph(resolveRuntimeOptions(options), factories);
  const stopAudits = options.audit && scheduleAudits(graph, options.audit);
  return new RuntimeHandle(graph, options.prefix, stopAudits);
}

const FAILURE = kind<TransformationFailure>()({
  key: (failure) => failure.key,
  equals: "reference",
});

class RuntimeHandle extends ScopeHandle implements Runtime {
  readonly #graph: Graph;

  readonly #stopAudits: (() => void) | undefined;
  readonly errors: InputCollection<TransformationFailure>;

  constructor(graph: Graph, prefix: string | undefined, stopAudits: (() => void) | undefined) {
    super(new Owner(graph, undefined, prefix));
    this.#graph = graph;
    this.#stopAudits = stopAudits;
    this.errors = this.source<TransformationFailure>([], { kind: FAILURE, name: "errors" });
    graph.nodes.delete(nodeOf(this.errors));
    graph.onFailure = (node, input, error) => this.#noteFailure(node, input, error);
  }

  /** Failures come up inside a turn, where nothing can be written, and are noted after it. */
  #noteFailure(node: AnyNode, input: string, error: KrtError | undefined): void {
    const key = `${node.id}/${input}`;
    this.#graph.turn.after(() => {
      if (this.errors.disposed) return;
      if (error === undefined) this.errors.delete(key);
      else this.errors.set({ key, collection: node.name, input, error });
    });
  }

  get version(): number {
    this.#graph.writes.pay();
    return this.#graph.turn.number;
  }

  batch<R>(write: () => R): R {
    return this.#graph.writes.batch(write);
  }

  transaction<R>(write: () => R): R {
    return this.#graph.writes.transaction(write);
  }

  sliced(write: () => void): Promise<void> {
    return this.#graph.writes.sliced(() => {
      write();
      return true;
    });
  }

  settled({ signal }: WaitOptions = {}): Promise<void> {
    return this.#graph.whenIdle(signal);
  }

  audit(options?: AuditOptions): AuditFinding[] {
    this.#graph.writes.pay();
    return auditGraph(this.#graph, options);
  }

  inspect(): Inspector {
    this.#graph.writes.pay();
    return new GraphInspector(this.#graph);
  }

  override dispose(): void {
    this.#stopAudits?.();
    super.dispose();
    this.#graph.close();
  }
}

/** Resolves when all of them are synced. */
export async function allSynced(
  waiting: Iterable<Pick<Collection<unknown>, "whenSynced">>,
  options?: WaitOptions,
): Promise<void> {
  await Promise.all(Array.from(waiting, (one) => one.whenSynced(options)));
}
