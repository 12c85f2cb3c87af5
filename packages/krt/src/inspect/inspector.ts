import type { Collection } from "../collection.ts";
import type { NodeCounters } from "../core/counters.ts";
import type { RecomputeCause } from "../core/derived-node.ts";
import { DerivedNode } from "../core/derived-node.ts";
import type { EdgeType } from "../core/edge.ts";
import type { Entry } from "../core/entry.ts";
import type { Graph } from "../core/graph.ts";
import type { AnyNode, NodeType } from "../core/node.ts";
import { nodeOf } from "../core/tracker.ts";
import type { KrtError } from "../errors.ts";
import { describeFilter } from "./describe-filter.ts";
import { dotDiagram, mermaidDiagram } from "./diagram.ts";
import { type CollectionDump, dumpNode } from "./dump.ts";
import { queriesBetween } from "./queries-between.ts";

/** One collection as the inspector sees it. */
export interface CollectionInfo {
  readonly id: number;
  readonly name: string;
  readonly type: NodeType;
  /** Longest path from a source. */
  readonly level: number;
  readonly size: number;
  readonly synced: boolean;
  readonly counters: Readonly<NodeCounters>;
  /** Distinct questions that are fetched from this collection. */
  readonly queries: number;
  readonly indexes: readonly string[];
  readonly subscriptions: readonly SubscriptionInfo[];
}

export interface SubscriptionInfo {
  readonly name: string | undefined;
  readonly queued: number;
  /** Whether a promise of the handler is pending. */
  readonly busy: boolean;
  readonly synced: boolean;
}

/** One collection reads another. */
export interface EdgeInfo {
  readonly from: string;
  readonly to: string;
  readonly type: EdgeType;
  /** Number of fetches, for edges of type `fetch`. */
  readonly count: number;
  /** What the first inputs fetch, in words, without repetitions. At most eight. */
  readonly filters: readonly string[];
}

/** An input of a derivation. */
export interface InputRef {
  readonly collection: string;
  readonly input: string;
}

/** One fetch of the last run of an input. */
export interface DependencyInfo {
  readonly collection: string;
  readonly filters: string;
  /** Number of objects it selects now. */
  readonly matches: number;
}

/** What is known about one input of a derivation. */
export interface Explanation extends InputRef {
  readonly outputs: readonly string[];
  readonly dependencies: readonly DependencyInfo[];
  /** Why it last ran. Only with the runtime's option `explain`. */
  readonly cause: RecomputeCause | undefined;
  /** The collection it waits for to be synced. */
  readonly waitsFor: string | undefined;
  readonly failure: KrtError | undefined;
}

/** A read-only view of the current graph. */
export interface Inspector {
  collections(): CollectionInfo[];
  edges(): EdgeInfo[];
  /** The collection of this name; the first one where several have it. */
  named(name: string): Collection<unknown> | undefined;
  /**
   * Inputs that fetch the object with this key, and run again when it changes. Where there is none, those that ask for the key
   * itself: they wait for it.
   */
  dependants(collection: Collection<unknown>, key: string): InputRef[];
  /** The input that yields this output key. */
  explainOutput(collection: Collection<unknown>, key: string): Explanation | undefined;
  /** What this input yields, reads and waits for. */
  explain(collection: Collection<unknown>, input: string): Explanation | undefined;
  /** All collections, in the format of the original's debug page. */
  dump(): CollectionDump[];
  /** What `JSON.stringify` makes of the inspector: the dump. */
  toJSON(): CollectionDump[];
  /** The graph in the language of Mermaid: inputs solid, fetches dotted, collections by level. */
  mermaid(): string;
  /** The graph in the language of Graphviz. */
  dot(): string;
}

export class GraphInspector implements Inspector {
  readonly #graph: Graph;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  collections(): CollectionInfo[] {
    return Array.from(this.#graph.nodes, infoOf);
  }

  edges(): EdgeInfo[] {
    const edges: EdgeInfo[] = [];
    for (const node of this.#graph.nodes) {
      for (const { source, reader, type, count } of node.inputs) {
        const filters = type === "input" ? [] : filtersBetween(source, reader);
        edges.push({ from: source.name, to: reader.name, type, count, filters });
      }
    }
    return edges;
  }

  named(name: string): Collection<unknown> | undefined {
    for (const node of this.#graph.nodes) if (node.name === name) return node;
    return undefined;
  }

  dependants(collection: Collection<unknown>, key: string): InputRef[] {
    const node = nodeOf(collection);
    const row = node.rowAt(key);
    const isThere = row !== undefined && node.valueOf(row) !== undefined;
    const found = new Map<Entry, InputRef>();
    for (const query of node.queries.all()) {
      if (!(isThere ? query.selects(row) : query.asksFor(key))) continue;
      for (let link = query.users; link !== undefined; link = link.nextUser) {
        for (const entry of link.entry.represented()) {
          found.set(entry, { collection: entry.node.name, input: entry.input.key });
        }
      }
    }
    if (node instanceof DerivedNode) {
      const owner = isThere ? (row.owner as Entry | undefined) : undefined;
      for (const entry of node.ownReadersOf(owner?.input.key ?? key)) {
        found.set(entry, { collection: node.name, input: entry.input.key });
      }
    }
    return [...found.values()];
  }

  explain(collection: Collection<unknown>, input: string): Explanation | undefined {
    const node = nodeOf(collection);
    if (!(node instanceof DerivedNode)) return undefined;
    const entry = node.entries.of(input);
    return entry === undefined ? undefined : explainEntry(node, entry);
  }

  explainOutput(collection: Collection<unknown>, key: string): Explanation | undefined {
    const node = nodeOf(collection);
    const owner: unknown = node.rowAt(key)?.owner;
    if (!(node instanceof DerivedNode) || owner === undefined) return undefined;
    return explainEntry(node, owner as Entry);
  }

  dump(): CollectionDump[] {
    return Array.from(this.#graph.nodes, dumpNode);
  }

  toJSON(): CollectionDump[] {
    return this.dump();
  }

  mermaid(): string {
    return mermaidDiagram([...this.#graph.nodes]);
  }

  dot(): string {
    return dotDiagram([...this.#graph.nodes]);
  }
}

function infoOf(node: AnyNode): CollectionInfo {
  return {
    id: node.id,
    name: node.name,
    type: node.type,
    level: node.level,
    size: node.size,
    synced: node.synced,
    counters: { ...node.counters },
    queries: node.queries.size,
    indexes: Array.from(node.indexes, (index) => index.name),
    subscriptions: node.subscribers.members.map(({ name, queued, busy, synced }) => ({
      name,
      queued,
      busy,
      synced,
    })),
  };
}

function explainEntry(node: DerivedNode<unknown, unknown>, entry: Entry): Explanation {
  const { output } = entry;
  const rows = output === undefined ? [] : Array.isArray(output) ? output : [output];
  const dependencies: DependencyInfo[] = [];
  for (const { query } of node.linksOf(entry)) {
    dependencies.push({
      collection: query.source.name,
      filters: query.filters.map(describeFilter).join(" and "),
      matches: query.read().length,
    });
  }
  for (const key of node.ownReadsOf(entry)) {
    const read = node.entries.of(key);
    const matches = read?.output === undefined ? 0 : 1;
    dependencies.push({ collection: node.name, filters: `output of input ${key}`, matches });
  }
  return {
    collection: node.name,
    input: entry.input.key,
    outputs: rows.map((row) => row.key).sort(),
    dependencies,
    cause: node.causeOf(entry),
    waitsFor: node.waitsFor(entry)?.name,
    failure: node.failureOf(entry),
  };
}

/** How many different filters are listed per edge. */
const LISTED_FILTERS = 8;

function filtersBetween(source: AnyNode, reader: AnyNode): string[] {
  const texts = new Set<string>();
  for (const query of queriesBetween(source, reader)) {
    texts.add(query.filters.map(describeFilter).join(" and ") || "all");
    if (texts.size === LISTED_FILTERS) break;
  }
  return [...texts].sort();
}
