import { KrtError } from "../errors.ts";
import type { FilterSpec } from "../filter.ts";
import type { Entry } from "./entry.ts";
import type { Graph } from "./graph.ts";
import { Link } from "./link.ts";
import { type AnyNode, CollectionNode, SyncState } from "./node.ts";
import { type AnyQuery, type Projection, Query } from "./query.ts";

/** Thrown out of a fetch to give up a run. Never reaches user code that lets errors pass. */
const ABORT_RUN = Symbol("abandon");

/** Why a run was given up: its node has to wait for its turn, or for a node to be synced. */
type Abandoned = "order" | AnyNode;

/**
 * Follows the fetches of the one run that can be on the stack, and brings the links of its entry up to
 * date with the least work.
 *
 * During a run: `#tail` is the last link made or confirmed, and `#cursor` the next link of the former
 * run. The list from the entry to `#tail` is what this run fetched so far; the list from `#cursor` on
 * is what it has not confirmed. As long as both meet (`#tail.next === #cursor`) nothing changed.
 * At the end, what is left from `#cursor` on is unlinked.
 */
export class Tracker {
  readonly #graph: Graph;
  #entry: Entry | undefined;
  /** Number of the run on the stack, or of the last one. */
  #run = 0;
  #cursor: Link | undefined;
  #tail: Link | undefined;
  /** Set by a fetch that gave up the run, so that a `catch` in user code cannot hide it. */
  abandoned: Abandoned | undefined;
  /** Whether the run made a scope for collections of its own. */
  madeScope = false;
  /** Set while a run is made for comparison only: its fetches leave no traces. */
  #dry = false;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /** Whether a transformation is on the stack. */
  get running(): boolean {
    return this.#entry !== undefined;
  }

  /** The run on the stack, if any. */
  get run(): number | undefined {
    return this.#entry === undefined ? undefined : this.#run;
  }

  /** Whether the run on the stack is for comparison only. */
  get isDry(): boolean {
    return this.#dry;
  }

  /** The entry whose run is on the stack. */
  get entry(): Entry | undefined {
    return this.#entry;
  }

  begin(entry: Entry): void {
    this.#run++;
    this.#entry = entry;
    this.#cursor = entry.links;
    this.#tail = undefined;
    this.abandoned = undefined;
    this.madeScope = false;
  }

  /** Begins a run whose fetches are answered but not remembered. */
  beginDry(entry: Entry): void {
    this.begin(entry);
    this.#cursor = undefined;
    this.#dry = true;
  }

  endDry(): void {
    this.#entry = undefined;
    this.#dry = false;
  }

  /** What the run on the stack fetched so far, in order. */
  fetched(): AnyQuery[] {
    const queries: AnyQuery[] = [];
    if (this.#tail === undefined) return queries;
    for (let link = this.#entry?.links; link !== undefined; link = link.next) {
      queries.push(link.query);
      if (link === this.#tail) break;
    }
    return queries;
  }

  /** Ends the run: releases the links it did not confirm. */
  end(): void {
    const entry = this.#entry;
    const stale = this.#cursor;
    this.#entry = undefined;
    this.#cursor = undefined;
    if (entry === undefined || stale === undefined) return;
    if (this.#tail === undefined) entry.links = undefined;
    else this.#tail.next = undefined;
    releaseFrom(stale);
  }

  /**
   * The query for a fetch of the run on the stack, linked to its entry. Throws {@link ABORT_RUN} where the
   * answer is not final, and a `KrtError` where the fetch is not possible.
   */
  query<T>(
    collection: unknown,
    filters: readonly FilterSpec[],
    projection: Projection | undefined,
  ): Query<T> {
    const former = this.#cursor;
    if (
      former !== undefined &&
      former.query.source === collection &&
      former.query.accepts(filters, projection)
    ) {
      this.#tail = former;
      this.#cursor = former.next;
      const { source } = former.query;
      if (source.syncState === SyncState.unsynced && !source.disposed) this.#await(source);
      return former.query as Query<T>;
    }
    return this.#connect(collection, filters, projection) as Query<T>;
  }

  #connect(
    collection: unknown,
    filters: readonly FilterSpec[],
    projection: Projection | undefined,
  ): AnyQuery {
    const entry = this.#entry;
    if (entry === undefined) throw new KrtError("KRT_CONTEXT");
    const source = nodeOf(collection);
    if (this.#dry) return new Query<unknown>(source, filters, projection, undefined);
    if (source.madeIn === this.#run) {
      throw new KrtError("KRT_CONTEXT", `${source.name} was made by the run that fetches from it`);
    }
    const reader = entry.node;
    const { level } = reader;
    reader.addEdge(source, "fetch");
    let query: AnyQuery;
    try {
      query = source.queries.acquire(filters, projection);
    } catch (error) {
      reader.removeEdge(source, "fetch");
      throw error;
    }
    this.#append(query, entry);
    if (reader.level > level && this.#graph.turn.queue.hasUpTo(source.level))
      this.#abandon("order");
    if (source.syncState === SyncState.unsynced && !source.disposed) this.#await(source);
    return query;
  }

  #append(query: AnyQuery, entry: Entry): void {
    const link = makeUser(query, entry);
    link.next = this.#cursor;
    if (this.#tail === undefined) entry.links = link;
    else this.#tail.next = link;
    this.#tail = link;
  }

  #await(source: AnyNode): void {
    const entry = this.#entry;
    if (entry !== undefined) source.awaiting.add(entry);
    this.#abandon(source);
  }

  /** Gives the run on the stack up, to be made again in this turn. */
  giveUp(): never {
    return this.#abandon(this.abandoned ?? "order");
  }

  #abandon(reason: Abandoned): never {
    this.abandoned = reason;
    throw ABORT_RUN;
  }
}

/** A link that is the query's newest user, and not yet in a list of its entry. */
export function makeUser(query: AnyQuery, entry: Entry): Link {
  const link = new Link(query, entry);
  link.nextUser = query.users;
  if (query.users !== undefined) query.users.previousUser = link;
  query.users = link;
  return link;
}

/** Unlinks a list of links from their queries, and queries without users from their collections. */
export function releaseFrom(first: Link | undefined): void {
  for (let link = first; link !== undefined; link = link.next) {
    const { query } = link;
    if (link.previousUser === undefined) query.users = link.nextUser;
    else link.previousUser.nextUser = link.nextUser;
    if (link.nextUser !== undefined) link.nextUser.previousUser = link.previousUser;
    link.entry.node.removeEdge(query.source, "fetch");
    if (query.users === undefined) query.source.queries.release(query);
  }
}

/** The node behind a collection. Throws `KRT_FOREIGN` for anything else. */
export function nodeOf(collection: unknown): AnyNode {
  if (collection instanceof CollectionNode) return collection as AnyNode;
  throw new KrtError("KRT_FOREIGN", "this is not a collection of this package");
}
