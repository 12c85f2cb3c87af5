import type { Collection } from "../collection.ts";
import type { PartialProjection, TransformationContext } from "../context.ts";
import { KrtError } from "../errors.ts";
import type { Filter, FilterSpec } from "../filter.ts";
import type { KindCapability } from "../kind.ts";
import type { Scope } from "../scope.ts";
import type { Entry } from "./entry.ts";
import type { Graph } from "./graph.ts";
import type { Owner } from "./scope.ts";

/**
 * The context of all runs of one derivation. One object serves them all, as only one run can be on the
 * stack; between runs it refuses everything.
 *
 * A scope made by a run takes the place of the scope of the input's former run once the result is
 * accepted; the loser of the two is disposed after the turn, so that readers can move over within it.
 */
export class FetchContext implements TransformationContext {
  readonly #graph: Graph;
  readonly #owner: Owner;
  #active = false;
  #discarded = false;
  #made: Scope | undefined;
  #scopes: Map<Entry, Scope> | undefined;
  #abort: AbortController | undefined;

  constructor(graph: Graph, owner: Owner) {
    this.#graph = graph;
    this.#owner = owner;
  }

  begin(): void {
    this.#active = true;
    this.#discarded = false;
  }

  /** Ends the run of `entry`. Returns whether the result is to be discarded. */
  end(entry: Entry, completed: boolean): boolean {
    this.#active = false;
    const made = this.#made;
    if (made !== undefined || this.#scopes !== undefined) {
      this.#made = undefined;
      this.#swapScope(entry, made, completed && !this.#discarded);
    }
    return this.#discarded;
  }

  #swapScope(entry: Entry, made: Scope | undefined, accepted: boolean): void {
    const former = this.#scopes?.get(entry);
    const loser = accepted ? former : made;
    if (loser !== undefined) this.#graph.turn.after(() => loser.dispose());
    if (!accepted) return;
    if (made === undefined) {
      this.#scopes?.delete(entry);
    } else {
      this.#scopes ??= new Map();
      this.#scopes.set(entry, made);
    }
  }

  endScope(entry: Entry): void {
    const scope = this.#scopes?.get(entry);
    if (scope === undefined) return;
    this.#scopes?.delete(entry);
    this.#graph.turn.after(() => scope.dispose());
  }

  #check(): void {
    if (!this.#active) {
      throw new KrtError("KRT_CONTEXT", "a context was used outside of the run it was given to");
    }
  }

  fetch<T, Tr extends KindCapability>(
    collection: Collection<T, Tr>,
    ...filters: readonly Filter<T, Tr>[]
  ): readonly T[] {
    this.#check();
    const specs = filters as unknown as readonly FilterSpec[];
    const found = this.#graph.tracker.query<T>(collection, specs, undefined).read();
    const { strict } = this.#graph.options;
    return strict === undefined ? found : strict.given(found);
  }

  fetchOne<T, Tr extends KindCapability>(
    collection: Collection<T, Tr>,
    ...filters: readonly Filter<T, Tr>[]
  ): T | undefined {
    this.#check();
    const specs = filters as unknown as readonly FilterSpec[];
    const found = this.#graph.tracker.query<T>(collection, specs, undefined).readOne();
    const { strict } = this.#graph.options;
    return strict === undefined ? found : strict.given(found);
  }

  fetchPartial<T, Tr extends KindCapability, P>(
    collection: Collection<T, Tr>,
    projection: PartialProjection<T, P>,
    ...filters: readonly Filter<T, Tr>[]
  ): readonly P[] {
    this.#check();
    const specs = filters as unknown as readonly FilterSpec[];
    const own = projection as PartialProjection<unknown, unknown>;
    const read = this.#graph.tracker.query<T>(collection, specs, own).read();
    const { strict } = this.#graph.options;
    const found = strict === undefined ? read : strict.given(read);
    return found.map((object) => projection.project(object));
  }

  discard(): void {
    this.#check();
    this.#discarded = true;
  }

  scope(): Scope {
    this.#check();
    this.#graph.tracker.madeScope = true;
    this.#made ??= this.#graph.factories.scope(this.#owner);
    return this.#made;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    return this.#abort.signal;
  }

  dispose(): void {
    this.#abort?.abort();
  }
}
