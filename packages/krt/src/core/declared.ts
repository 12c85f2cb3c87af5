import type { DeclaredFetchSpec } from "../declared-fetch.ts";
import type { FilterSpec } from "../filter.ts";
import type { DerivedNode } from "./derived-node.ts";
import { Entry } from "./entry.ts";
import type { Link } from "./link.ts";
import { type AnyNode, SyncState } from "./node.ts";
import type { AnyQuery } from "./query.ts";
import { Row } from "./row.ts";
import { makeUser, releaseFrom } from "./tracker.ts";

/**
 * Stands for all entries of a derivation at once: the user of queries that every entry would link to. It
 * is in no list of entries and never runs; being marked, it marks them all.
 */
class Hub extends Entry {
  override represented(): Iterable<Entry> {
    return this.node.entries;
  }

  override mark(source?: AnyNode, key?: string): void {
    for (const entry of this.node.entries) entry.mark(source, key);
  }
}

interface Declared {
  readonly name: string;
  readonly source: AnyNode;
  /** Given the input, for fetches that depend on it. */
  readonly filters: ((input: unknown) => readonly FilterSpec[]) | undefined;
  /** The one query of a constant fetch. */
  readonly query: AnyQuery | undefined;
}

/**
 * The declared fetches of a derivation. Their collections are known before the first run: edges, and so
 * levels, are made at once, and nothing runs before all of them are synced.
 */
export class DeclaredFetchSet {
  readonly #declared: readonly Declared[];
  readonly #hub: Hub;

  constructor(
    node: DerivedNode<never, unknown>,
    specs: Readonly<Record<string, DeclaredFetchSpec>>,
  ) {
    this.#hub = new Hub(node, new Row<unknown>("", 0, {}, undefined));
    this.#declared = Object.entries(specs).map(([name, { source, filters }]) => {
      node.addEdge(source, "static");
      if (typeof filters === "function") return { name, source, filters, query: undefined };
      const query = source.queries.acquire(filters, undefined);
      node.addEdge(source, "fetch");
      const link = makeUser(query, this.#hub);
      link.next = this.#hub.links;
      this.#hub.links = link;
      return { name, source, filters: undefined, query };
    });
  }

  /** The links that stand for all entries. */
  get links(): Link | undefined {
    return this.#hub.links;
  }

  get ready(): boolean {
    return this.#declared.every(
      ({ source }) => source.syncState !== SyncState.unsynced || source.disposed,
    );
  }

  /** What the fetches give for an input, for the run on the stack. */
  read(input: unknown): Readonly<Record<string, readonly unknown[]>> {
    const { tracker, options } = this.#hub.node.graph;
    const fetched: Record<string, readonly unknown[]> = {};
    for (const { name, source, filters, query } of this.#declared) {
      const asked = query ?? tracker.query(source, filters?.(input) ?? [], undefined);
      const found = asked.read() as readonly unknown[];
      fetched[name] = options.strict === undefined ? found : options.strict.given(found);
    }
    return fetched;
  }

  release(): void {
    releaseFrom(this.#hub.links);
    this.#hub.links = undefined;
  }
}
