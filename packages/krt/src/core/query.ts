import { deepEqual, type Equals } from "../equality.ts";
import { KrtError } from "../errors.ts";
import { type FilterSpec, FilterType } from "../filter.ts";
import { canonicalLabels } from "../labels.ts";
import type { FunctionIds } from "./function-ids.ts";
import type { Link } from "./link.ts";
import type { AnyNode, CollectionNode } from "./node.ts";
import type { MutableEvent, Row } from "./row.ts";

/** A projection by which a partial fetch distinguishes relevant changes from irrelevant ones. */
export interface Projection {
  readonly project: (value: unknown) => unknown;
  readonly equals?: Equals<unknown>;
}

/** A query over objects of any type. */
// oxlint-disable-next-line typescript/no-explicit-any -- queries are invariant in their type, and links mix them
export type AnyQuery = Query<any>;

/** Results above this length are kept only while several entries share them. */
const KEPT_RESULT = 64;

/**
 * What a fetch asked of a collection.
 *
 * Invariants:
 * - A query is registered with its collection exactly while it has users.
 * - `#result`, where present, is what the filters select now: publication of a matching change drops it.
 * - `marked` is the turn in which a matching change was last published. Within that turn all users are
 *   dirty and the result was dropped, so further changes need no processing.
 *
 * The **anchor** is the filter by which changes find the query; the others are tested. It is the key,
 * else the index, else (see the registry) a pair of labels, else nothing. `rest` are the other filters.
 */
export class Query<T> {
  readonly source: CollectionNode<T>;
  /** As given, so that the next run can be compared. A private query's may be replaced. */
  filters: readonly FilterSpec[];
  /** A private query's may be replaced. */
  projection: Projection | undefined;
  /** Key in the table of shared queries, or `undefined` for a private one, which has one link. */
  readonly shareKey: string | undefined;
  readonly anchor: FilterSpec | undefined;
  rest: readonly FilterSpec[];
  users: Link | undefined = undefined;
  marked = -1;
  #result: readonly T[] | undefined = undefined;

  constructor(
    source: CollectionNode<T>,
    filters: readonly FilterSpec[],
    projection: Projection | undefined,
    shareKey: string | undefined,
  ) {
    this.source = source;
    this.filters = filters;
    this.projection = projection;
    this.shareKey = shareKey;
    for (const filter of filters) requireTrait(source, filter);
    this.anchor = findAnchor(source, filters);
    this.rest = without(filters, this.anchor);
  }

  /** Whether a fetch of the next run may continue with this query. Adopts new inline predicates and projections. */
  accepts(filters: readonly FilterSpec[], projection: Projection | undefined): boolean {
    const own = this.filters;
    if (own.length !== filters.length) return false;
    const projected = this.projection !== projection;
    if (projected && (this.projection === undefined || projection === undefined)) return false;
    let replaced = false;
    for (let i = 0; i < own.length; i++) {
      const before = own[i] as FilterSpec;
      const now = filters[i] as FilterSpec;
      if (!before.sameQuestion(now)) return false;
      replaced ||= !before.sameFunctions(now);
    }
    if (!replaced && !projected) return true;
    if (this.shareKey !== undefined) return false;
    this.projection = projection;
    if (replaced) {
      this.filters = filters;
      this.rest = without(filters, this.anchor);
      this.#result = undefined;
    }
    return true;
  }

  /** What the filters select now. Shared: must not be changed. */
  read(): readonly T[] {
    if (this.#result !== undefined) return this.#result;
    const result = this.#select();
    if (result.length <= KEPT_RESULT || this.users?.nextUser !== undefined) this.#result = result;
    return result;
  }

  /** The only match, or `undefined`. Throws `KRT_NOT_ONE`. */
  readOne(): T | undefined {
    const { anchor } = this;
    if (
      anchor !== undefined &&
      anchor.type !== FilterType.index &&
      anchor.type !== FilterType.keys
    ) {
      return this.#valueAt(anchor.operand as string);
    }
    const found = this.read();
    if (found.length > 1) {
      const { name } = this.source;
      throw new KrtError("KRT_NOT_ONE", `fetchOne matched ${found.length} objects of ${name}`, {
        details: { collection: name },
      });
    }
    return found[0];
  }

  /**
   * Processes a change. `before` and `after` say whether the old and new versions fulfil the
   * anchor. A filter that throws counts as a match: the run it leads to will throw where it can be reported.
   */
  notice(event: MutableEvent<T>, before: boolean, after: boolean, turn: number): void {
    if (this.marked === turn) return;
    const matchedOld = before && event.old !== undefined && this.#matches(event.key, event.old);
    const matchesNew = after && event.new !== undefined && this.#matches(event.key, event.new);
    if (!matchedOld && !matchesNew) return;
    this.#result = undefined;
    if (matchedOld && matchesNew && this.#sameProjection(event)) return;
    this.marked = turn;
    for (let link = this.users; link !== undefined; link = link.nextUser) {
      link.entry.mark(this.source, event.key);
    }
  }

  #sameProjection(event: MutableEvent<T>): boolean {
    if (this.projection === undefined) return false;
    const { project, equals } = this.projection;
    try {
      return (equals ?? deepEqual)(project(event.old), project(event.new));
    } catch {
      return false;
    }
  }

  #matches(key: string, value: T): boolean {
    const { rest } = this;
    try {
      for (let i = 0; i < rest.length; i++) {
        if (!(rest[i] as FilterSpec).test(this.source.kind, key, value)) return false;
      }
    } catch {
      return true;
    }
    return true;
  }

  #passes(row: Row<T>): T | undefined {
    const value = this.source.valueOf(row);
    if (value === undefined) return undefined;
    const { rest } = this;
    for (let i = 0; i < rest.length; i++) {
      if (!(rest[i] as FilterSpec).test(this.source.kind, row.key, value)) return undefined;
    }
    return value;
  }

  /** Whether the query selects the object of this row now. */
  selects(row: Row<T>): boolean {
    const { anchor } = this;
    const value = this.source.valueOf(row);
    if (value === undefined) return false;
    return (
      (anchor === undefined || anchor.test(this.source.kind, row.key, value)) &&
      this.#passes(row) !== undefined
    );
  }

  /** Whether it asks for this key itself, be there an object or not. */
  asksFor(key: string): boolean {
    const { anchor } = this;
    if (anchor === undefined || anchor.type === FilterType.index) return false;
    if (anchor.type === FilterType.keys) return (anchor.operand as readonly string[]).includes(key);
    return anchor.operand === key;
  }

  #valueAt(key: string): T | undefined {
    const row = this.source.rowAt(key);
    return row === undefined ? undefined : this.#passes(row);
  }

  #select(): readonly T[] {
    const { anchor } = this;
    const found: T[] = [];
    if (anchor === undefined) {
      const narrowed = this.source.queries.candidates(this.rest);
      this.#collect(narrowed?.rows ?? this.source.rows(), found);
    } else if (anchor.type === FilterType.index) {
      this.#selectIndexed(anchor, found);
    } else if (anchor.type === FilterType.keys) {
      for (const key of new Set(anchor.operand as readonly string[])) {
        const value = this.#valueAt(key);
        if (value !== undefined) found.push(value);
      }
    } else {
      const value = this.#valueAt(anchor.operand as string);
      if (value !== undefined) found.push(value);
    }
    return found;
  }

  #selectIndexed(anchor: FilterSpec, found: T[]): void {
    const store = anchor.index;
    if (store === undefined) return;
    const narrowed = this.source.queries.candidates(this.rest);
    if (narrowed !== undefined && narrowed.count < store.countAtAny(anchor.operand)) {
      for (const row of narrowed.rows) {
        if (!store.has(row, anchor.operand)) continue;
        const value = this.#passes(row);
        if (value !== undefined) found.push(value);
      }
      return;
    }
    if (!Array.isArray(anchor.operand)) {
      this.#collect(store.rowsAt(anchor.operand) as Iterable<Row<T>>, found);
      return;
    }
    const rows = new Set<Row<T>>();
    for (const key of anchor.operand) for (const row of store.rowsAt(key)) rows.add(row as Row<T>);
    this.#collect(rows, found);
  }

  #collect(rows: Iterable<Row<T>>, found: T[]): void {
    for (const row of rows) {
      const value = this.#passes(row);
      if (value !== undefined) found.push(value);
    }
  }
}

function requireTrait(source: AnyNode, filter: FilterSpec): void {
  if (filter.type === FilterType.any) {
    for (const one of filter.alternatives.flat()) requireTrait(source, one);
    return;
  }
  const { kind, name } = source;
  const missing =
    (filter.type === FilterType.labels && kind.labels === undefined && "labels") ||
    (filter.selects && kind.selector === undefined && "selector") ||
    (filter.type === FilterType.name && kind.name === undefined && "name");
  if (missing === false) return;
  throw new KrtError("KRT_TRAIT", `the objects of ${name} have no ${missing} to filter by`, {
    details: { collection: name },
  });
}

function findAnchor(source: AnyNode, filters: readonly FilterSpec[]): FilterSpec | undefined {
  let anchor: FilterSpec | undefined;
  for (const filter of filters) {
    const keyed = isKeyed(source, filter);
    if (!keyed && filter.type !== FilterType.index) continue;
    if (anchor !== undefined && isKeyed(source, anchor) !== keyed) {
      throw new KrtError("KRT_FILTER", "a fetch cannot combine a key filter and an index filter", {
        details: { collection: source.name },
      });
    }
    anchor ??= filter;
  }
  return anchor;
}

function isKeyed(source: AnyNode, filter: FilterSpec): boolean {
  if (filter.type === FilterType.name) return source.kind.keyIsName;
  return filter.type === FilterType.key || filter.type === FilterType.keys;
}

function without(
  filters: readonly FilterSpec[],
  anchor: FilterSpec | undefined,
): readonly FilterSpec[] {
  if (anchor === undefined) return filters;
  return filters.length === 1 ? [] : filters.filter((filter) => filter !== anchor);
}

/** The key under which equal questions share a query, or `undefined` where one holds a function. */
export function shareKeyOf(
  filters: readonly FilterSpec[],
  functions: FunctionIds,
): string | undefined {
  let text = "";
  for (const filter of filters) {
    const part = sharePart(filter, functions);
    if (part === undefined) return undefined;
    text += part;
  }
  return text;
}

function sharePart(filter: FilterSpec, functions: FunctionIds): string | undefined {
  const { type, operand } = filter;
  switch (type) {
    case FilterType.key:
      return `k${text(operand)}`;
    case FilterType.name:
      return `n${text(operand)}`;
    case FilterType.keys:
      return `m${texts(operand)}`;
    case FilterType.index:
      return `i${text(filter.index?.name)}=${Array.isArray(operand) ? texts(operand) : text(operand)}`;
    case FilterType.labels:
      return `l{${canonicalLabels(filter.labels)}}`;
    case FilterType.selects:
      return `s{${canonicalLabels(filter.labels)}}`;
    case FilterType.selectsNonEmpty:
      return `S{${canonicalLabels(filter.labels)}}`;
    case FilterType.where: {
      const id = functions.of(operand as object);
      return id === undefined ? undefined : `w${id};`;
    }
    case FilterType.any:
      return anyPart(filter, functions);
    default:
      return type satisfies never;
  }
}

function anyPart(filter: FilterSpec, functions: FunctionIds): string | undefined {
  let text = "a(";
  for (const alternative of filter.alternatives) {
    const part = shareKeyOf(alternative, functions);
    if (part === undefined) return undefined;
    text += `${part.length}:${part}`;
  }
  return `${text})`;
}

function texts(keys: unknown): string {
  return `[${(keys as readonly unknown[]).map(text).join("")}]`;
}

/** Unambiguous text of a primitive: type, length, value. */
function text(key: unknown): string {
  const value = String(key);
  return `${typeof key === "string" ? "" : typeof key}${value.length}:${value}`;
}
