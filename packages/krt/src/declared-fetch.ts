import type { Collection } from "./collection.ts";
import type { AnyNode } from "./core/node.ts";
import { nodeOf } from "./core/tracker.ts";
import type { Filter, FilterSpec } from "./filter.ts";
import type { KindCapability } from "./kind.ts";

declare const FETCHED: unique symbol;
declare const INPUT: unique symbol;

/** A fetch that is declared with a derivation instead of made in its transformation. */
export interface DeclaredFetch<in I, out T> {
  readonly [INPUT]?: (input: I) => void;
  readonly [FETCHED]?: T;
  /** Whether the filters are the same for all inputs. */
  readonly constant: boolean;
}

/** Fetches by name. */
export type DeclaredFetches<I> = Readonly<Record<string, DeclaredFetch<I, unknown>>>;

/** What a transformation gets from its declared fetches. */
export type FetchedBy<F> = {
  readonly [N in keyof F]: F[N] extends DeclaredFetch<never, infer T> ? readonly T[] : never;
};

/** The inner side of a {@link DeclaredFetch}. */
export class DeclaredFetchSpec implements DeclaredFetch<never, never> {
  readonly source: AnyNode;
  readonly filters: readonly FilterSpec[] | ((input: unknown) => readonly FilterSpec[]);

  constructor(source: AnyNode, filters: DeclaredFetchSpec["filters"]) {
    this.source = source;
    this.filters = filters;
  }

  get constant(): boolean {
    return typeof this.filters !== "function";
  }
}

/**
 * Declares a fetch that is the same for every input. All inputs share one dependency: it costs nothing
 * per input, neither in memory nor in a run, and a change runs all of them.
 */
export function staticFetch<T, Tr extends KindCapability>(
  collection: Collection<T, Tr>,
  ...filters: readonly Filter<NoInfer<T>, NoInfer<Tr>>[]
): DeclaredFetch<unknown, T> {
  const specs = filters as unknown as readonly FilterSpec[];
  return new DeclaredFetchSpec(nodeOf(collection), specs);
}

/** Declares a fetch whose filters depend on the input. */
export function inputFetch<I, T, Tr extends KindCapability>(
  collection: Collection<T, Tr>,
  filters: (input: I) => readonly Filter<NoInfer<T>, NoInfer<Tr>>[],
): DeclaredFetch<I, T> {
  const specs = filters as unknown as (input: unknown) => readonly FilterSpec[];
  return new DeclaredFetchSpec(nodeOf(collection), specs);
}
