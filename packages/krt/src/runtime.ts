import type { Collection, WaitOptions } from "./collection.ts";
import { GroupNode } from "./core/group-node.ts";
import { type Factories, Graph } from "./core/graph.ts";
import { Owner } from "./core/scope.ts";
import type { KrtError } from "./errors.ts";
import { GraphInspector, type Inspector } from "./inspect/inspector.ts";
import type { Diagnostic, Instrumentation } from "./instrumentation.ts";
import { resolveRuntimeOptions } from "./options.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Scope } from "./scope.ts";
import { ScopeHandle } from "./scope-handle.ts";

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
  readonly onDiagnostic?: (diagnostic: Diagnostic) => void;
  /** Called at fixed points of every turn. */
  readonly instrumentation?: Instrumentation;
  /**
   * Milliseconds after which delivery and sliced turns yield to the event loop.
   * @default 10
   */
  readonly sliceMs?: number;
  /**
   * Milliseconds after which any turn goes on in slices. Its effects are then visible only some time
   * after the write that began it, all at once. Off by default: every turn ends within the write.
   * @default Infinity
   */
  readonly maxTurnMs?: number;
  /**
   * Length of a handler's queue that is reported as a diagnostic, and again at each doubling.
   * @default 10000
   */
  readonly highWater?: number;
  /**
   * Whether the time spent in each collection is measured.
   * @default false
   */
  readonly timing?: boolean;
  /**
   * Whether {@link Inspector.explain} can tell why an input last ran.
   * @default false
   */
  readonly explain?: boolean;
  /** Name prefix of all collections. */
  readonly prefix?: string;
}

/**
 * A graph of collections and everything that moves it. Runtimes are independent of each other; a
 * collection can only be used with collections of its own runtime.
 */
export interface Runtime extends Scope {
  /** Number of the last turn. */
  readonly version: number;
  /**
   * Carries out all writes of `write` in one turn, which ends before `batch` returns. Sources show what
   * was written at once, everything derived when the outermost batch ends. What was written before a
   * throw stays.
   */
  batch<R>(write: () => R): R;
  /** A batch of which nothing stays when it throws, also inside another batch. */
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
  /** A look at what is in the graph and why. */
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
  return new RuntimeHandle(graph, options.prefix);
}

class RuntimeHandle extends ScopeHandle implements Runtime {
  readonly #graph: Graph;

  constructor(graph: Graph, prefix: string | undefined) {
    super(new Owner(graph, undefined, prefix));
    this.#graph = graph;
  }

  get version(): number {
    return this.#graph.turn;
  }

  batch<R>(write: () => R): R {
    return this.#graph.batch(write);
  }

  transaction<R>(write: () => R): R {
    return this.#graph.transaction(write);
  }

  sliced(write: () => void): Promise<void> {
    return this.#graph.sliced(() => {
      write();
      return true;
    });
  }

  settled({ signal }: WaitOptions = {}): Promise<void> {
    return this.#graph.whenIdle(signal);
  }

  inspect(): Inspector {
    return new GraphInspector(this.#graph);
  }

  override dispose(): void {
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
