import type { Collection } from "./collection.ts";
import type { Equals } from "./equality.ts";
import type { Filter } from "./filter.ts";
import type { KindCapability } from "./kind.ts";
import type { Scope } from "./scope.ts";

/**
 * What a transformation reads other collections with. It belongs to one run: any use after that run
 * throws `KRT_CONTEXT`. Each fetch is remembered, and a change of what it matched, or of what comes to
 * match, has the transformation run again for this input.
 */
export interface TransformationContext {
  /**
   * The objects that fulfil all filters, in no defined order; without filters all. The array is shared
   * and must not be changed. Throws `KRT_FILTER` for a key and an index filter at once, `KRT_CYCLE`
   * where the collection depends on this one.
   */
  fetch<T, Tr extends KindCapability>(
    collection: Collection<T, Tr>,
    ...filters: readonly Filter<NoInfer<T>, NoInfer<Tr>>[]
  ): readonly T[];
  /** The only match, or `undefined`. Throws `KRT_NOT_ONE` when there are several. */
  fetchOne<T, Tr extends KindCapability>(
    collection: Collection<T, Tr>,
    ...filters: readonly Filter<NoInfer<T>, NoInfer<Tr>>[]
  ): T | undefined;
  /**
   * Fetches a projection of the objects: a change that leaves it equal, and the object within the
   * filters, does not cause a run. Give the same projection object at each run.
   */
  fetchPartial<T, Tr extends KindCapability, P>(
    collection: Collection<T, Tr>,
    projection: PartialProjection<T, P>,
    ...filters: readonly Filter<NoInfer<T>, NoInfer<Tr>>[]
  ): readonly P[];
  /**
   * Keeps the last output instead of what this run returns. Where there is none yet, what it returns
   * becomes the output. The fetches of the run count all the same.
   */
  discard(): void;
  /** A scope that ends when this input runs again or goes away, for collections made by the run. */
  scope(): Scope;
  /** Aborted when the derivation is disposed. */
  readonly signal: AbortSignal;
}

/** A part of objects of type `T`. Made once, with {@link partial}, and used by every run. */
export interface PartialProjection<in T, out P> {
  readonly project: (object: T) => P;
  /** @default structural equality */
  readonly equals?: Equals<unknown>;
}

/** A projection for {@link TransformationContext.fetchPartial}. */
export function partial<T, P>(
  project: (object: T) => P,
  equals?: Equals<P>,
): PartialProjection<T, P> {
  return equals === undefined ? { project } : { project, equals: equals as Equals<unknown> };
}

/**
 * One input to at most one output. Must be pure; nothing returned means no output. `fetched` is what
 * the fetches declared with the derivation give.
 */
export type Transformation<I, O, F = void> = (
  context: TransformationContext,
  input: I,
  fetched: F,
) => O | undefined | null;

/** One input to any number of outputs. Each must have a key of its own, across all inputs. */
export type ManyTransformation<I, O, F = void> = (
  context: TransformationContext,
  input: I,
  fetched: F,
) => Iterable<O> | undefined | null;

/**
 * The output of another input of the same derivation, by the key of that input; `undefined` where there is no such input or it has
 * no output. The transformation runs again when it changes. It is that of the input, also where another one yields the same key and the
 * collection shows the object of that. Throws `KRT_CONTEXT` outside of the run it was given to.
 */
export type OutputOf<O> = (key: string) => O | undefined;

/** One input, and outputs of other inputs, to at most one output. */
export type RecursiveTransformation<I, O> = (
  context: TransformationContext,
  input: I,
  outputOf: OutputOf<O>,
) => O | undefined | null;

/** No input to at most one output. */
export type SingletonTransformation<O> = (context: TransformationContext) => O | undefined | null;

/** No input to any number of outputs. */
export type ManyFromTransformation<O> = (
  context: TransformationContext,
) => Iterable<O> | undefined | null;

/** What may be an object of a collection: anything there is, but no promise. */
export type Output =
  | string
  | number
  | bigint
  | boolean
  | symbol
  | (object & { readonly then?: never });
