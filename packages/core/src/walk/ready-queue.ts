import type { LimiterSet } from "./limits.ts";

/** A graph of work. Vertices are numbers below `size`. */
interface WorkGraph {
  readonly size: number;
  /** For every vertex those that wait for it. */
  readonly next: readonly (readonly number[])[];
  /** How long a vertex takes compared to others; decides what is begun first. @default 1 */
  weight?(vertex: number): number;
}

interface QueueOptions {
  /** Does the work of a vertex. A rejection ends the walk: nothing new begins, what runs is waited for. */
  run(vertex: number): void | Promise<void>;
  /** Limits that a vertex counts against; none: it begins as soon as it is ready. */
  limitsOf?(vertex: number): readonly string[];
  readonly limits?: LimiterSet;
  /** Once aborted nothing new begins; what runs is waited for. */
  readonly stop?: AbortSignal;
}

/**
 * Walks a graph: every vertex after all that it waits for, as many at once as limits allow. Resolves with the vertices
 * that were not begun, which is none unless it was stopped.
 *
 * State: `waits` counts what a vertex still waits for; `ready` holds what waits for nothing. Invariant between turns:
 * every ready vertex either is in the heap, and the pump is scheduled, or is parked at one limit that is exhausted, which
 * puts it back when it has room. So nothing is forgotten and nothing polls.
 *
 * Order: of the ready ones, the one with the longest way to the end of the graph, then the lowest number. For equal
 * answers of what is run, equal graphs are walked in the same order.
 */
export async function walkGraph(
  graph: WorkGraph,
  options: QueueOptions,
): Promise<readonly number[]> {
  const walk = new GraphWalk(graph, options);
  return walk.result;
}

class GraphWalk {
  readonly result: Promise<readonly number[]>;
  readonly #graph: WorkGraph;
  readonly #options: QueueOptions;
  readonly #waits: Int32Array;
  readonly #begun: Uint8Array;
  readonly #ready: Heap;
  readonly #settle: PromiseWithResolvers<readonly number[]>;
  readonly #priority: Float64Array;
  readonly #names: (readonly string[])[] = [];
  readonly #parked = new Map<string, Heap>();
  #parkedCount = 0;
  #running = 0;
  #pumping = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(graph: WorkGraph, options: QueueOptions) {
    this.#graph = graph;
    this.#options = options;
    this.#waits = waitsOf(graph);
    this.#begun = new Uint8Array(graph.size);
    this.#priority = priorities(graph, this.#waits);
    this.#ready = new Heap(this.#priority);
    this.#settle = Promise.withResolvers();
    this.result = this.#settle.promise;
    for (const [vertex, waits] of this.#waits.entries()) if (waits === 0) this.#ready.push(vertex);
    this.#pump();
  }

  get #stopped(): boolean {
    return this.#failure !== undefined || this.#options.stop?.aborted === true;
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    while (!this.#stopped) {
      const vertex = this.#ready.pop();
      if (vertex === undefined) break;
      this.#admit(vertex);
    }
    this.#pumping = false;
    if (this.#running === 0 && (this.#stopped || this.#parkedCount === 0)) this.#end();
  }

  /** Begins a vertex if all its limits have room, or parks it at the first one that has none. Returns that one. */
  #admit(vertex: number): string | undefined {
    const names = this.#namesOf(vertex);
    const full = this.#options.limits?.take(names, () => this.#release(names));
    if (full === undefined) {
      this.#begin(vertex);
      return undefined;
    }
    let parked = this.#parked.get(full);
    if (parked === undefined) {
      parked = new Heap(this.#priority);
      this.#parked.set(full, parked);
    }
    parked.push(vertex);
    this.#parkedCount += 1;
    return full;
  }

  /**
   * Begins what was parked at limits that have room again, as far as the room goes. Each attempt begins a vertex, moves
   * it to another limit, or shows that this one is full: what is parked is not gone through again and again. What became
   * ready meanwhile comes before what is parked where it is more urgent. Only the outermost of nested calls takes from
   * what is ready, so that work that ends at once does not pile up on the stack.
   */
  #release(names: readonly string[]): void {
    const isOutermost = !this.#pumping;
    this.#pumping = true;
    for (const name of names) {
      const parked = this.#parked.get(name);
      if (parked === undefined) continue;
      while (!this.#stopped) {
        const first = parked.peek();
        if (first === undefined) break;
        const ready = isOutermost ? this.#ready.peek() : undefined;
        const urgent = ready !== undefined && this.#ready.isBefore(ready, first);
        const vertex = (urgent ? this.#ready : parked).pop();
        if (vertex === undefined) break;
        if (!urgent) this.#parkedCount -= 1;
        if (this.#admit(vertex) === name) break;
      }
    }
    if (!isOutermost) return;
    this.#pumping = false;
    this.#pump();
  }

  #namesOf(vertex: number): readonly string[] {
    const known = this.#names[vertex];
    if (known !== undefined) return known;
    const names = this.#options.limitsOf?.(vertex) ?? [];
    this.#names[vertex] = names;
    return names;
  }

  #begin(vertex: number): void {
    this.#begun[vertex] = 1;
    this.#running += 1;
    let done: void | Promise<void>;
    try {
      done = this.#options.run(vertex);
    } catch (error) {
      this.#failure ??= { error };
      this.#finish(vertex);
      return;
    }
    if (done === undefined) this.#finish(vertex);
    else {
      done.then(
        () => this.#finish(vertex),
        (error: unknown) => {
          this.#failure ??= { error };
          this.#finish(vertex);
        },
      );
    }
  }

  #finish(vertex: number): void {
    this.#running -= 1;
    const names = this.#namesOf(vertex);
    this.#options.limits?.give(names);
    for (const follower of this.#graph.next[vertex] ?? []) {
      const waits = (this.#waits[follower] ?? 0) - 1;
      this.#waits[follower] = waits;
      if (waits === 0) this.#ready.push(follower);
    }
    this.#release(names);
  }

  #end(): void {
    if (this.#failure !== undefined) {
      this.#settle.reject(this.#failure.error);
      return;
    }
    const left: number[] = [];
    for (const [vertex, begun] of this.#begun.entries()) if (begun === 0) left.push(vertex);
    this.#settle.resolve(left);
  }
}

function waitsOf({ size, next }: WorkGraph): Int32Array {
  const waits = new Int32Array(size);
  for (const followers of next) {
    for (const follower of followers) waits[follower] = (waits[follower] ?? 0) + 1;
  }
  return waits;
}

/** For every vertex the weight of the longest way from it to the end. */
function priorities(graph: WorkGraph, waits: Int32Array): Float64Array {
  const left = Int32Array.from(waits);
  const order: number[] = [];
  for (const [vertex, count] of left.entries()) if (count === 0) order.push(vertex);
  for (const vertex of order) {
    for (const follower of graph.next[vertex] ?? []) {
      left[follower] = (left[follower] ?? 0) - 1;
      if (left[follower] === 0) order.push(follower);
    }
  }
  const priority = new Float64Array(graph.size);
  for (let i = order.length - 1; i >= 0; i--) {
    const vertex = order[i] ?? 0;
    let longest = 0;
    for (const follower of graph.next[vertex] ?? [])
      longest = Math.max(longest, priority[follower] ?? 0);
    priority[vertex] = longest + (graph.weight?.(vertex) ?? 1);
  }
  return priority;
}

/** A binary heap of vertices: highest priority first, then lowest number. */
class Heap {
  readonly #priority: Float64Array;
  readonly #items: number[] = [];

  constructor(priority: Float64Array) {
    this.#priority = priority;
  }

  peek(): number | undefined {
    return this.#items[0];
  }

  push(vertex: number): void {
    const items = this.#items;
    let at = items.push(vertex) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.isBefore(vertex, items[above] ?? 0)) break;
      items[at] = items[above] ?? 0;
      at = above;
    }
    items[at] = vertex;
  }

  pop(): number | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (first === undefined || last === undefined || items.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= items.length) break;
      if (below + 1 < items.length && this.isBefore(items[below + 1] ?? 0, items[below] ?? 0))
        below += 1;
      if (!this.isBefore(items[below] ?? 0, last)) break;
      items[at] = items[below] ?? 0;
      at = below;
    }
    items[at] = last;
    return first;
  }

  isBefore(a: number, b: number): boolean {
    const difference = (this.#priority[a] ?? 0) - (this.#priority[b] ?? 0);
    return difference > 0 || (difference === 0 && a < b);
  }
}
