import { DerivedNode } from "../../core/derived-node.ts";
import type { Graph } from "../../core/graph.ts";
import { SyncState } from "../../core/node.ts";
import type { Query } from "../../core/query.ts";
import type { FilterSpec } from "../../filter.ts";
import { type Runtime, where } from "../../index.ts";
import type { ScopeHandle } from "../../scope-handle.ts";
import { check, same, sameMaps, sameSets } from "./check.ts";

/** The graph behind a runtime, for tests that look inside. */
export function graphOf(rt: Runtime): Graph {
  return (rt as unknown as ScopeHandle).owner.graph;
}

/**
 * What has to hold between turns, checked from the outside: levels rise along every edge, links and
 * queries mention each other, the registries hold exactly the live queries, cached results are what
 * the filters select, and indexes agree with the objects.
 */
export function checkInvariants(rt: Runtime): void {
  const graph = graphOf(rt);
  check(graph.turn.queue.isEmpty, "the queue is empty");
  same(graph.turn.touched.count, 0, "touched nodes");
  const live = new Map<Query<unknown>, number>();
  for (const node of graph.nodes) {
    for (const edge of node.inputs) {
      same(edge.reader, node, "reader of an edge");
      check(edge.count > 0, "an edge has a reason");
      check(edge.source.readers.includes(edge), "both ends know an edge");
      check(node.level > edge.source.level, "levels rise");
    }
    check(node.syncState !== SyncState.inTurn, "sync is committed");
    if (!(node instanceof DerivedNode)) continue;
    const fetched = new Map<unknown, number>();
    const links = [...node.entries].map((entry) => ({ entry, first: entry.links }));
    const shared = node.sharedLinks;
    if (shared !== undefined) links.push({ entry: shared.entry, first: shared });
    for (const { entry, first } of links) {
      for (let link = first; link !== undefined; link = link.next) {
        same(link.entry, entry, "entry of a link");
        live.set(link.query, (live.get(link.query) ?? 0) + 1);
        fetched.set(link.query.source, (fetched.get(link.query.source) ?? 0) + 1);
      }
    }
    const edges = node.inputs.filter((edge) => edge.type === "fetch");
    const counts = new Map<unknown, number>(edges.map((edge) => [edge.source, edge.count]));
    sameMaps(counts, fetched, "links per edge");
  }
  for (const node of graph.nodes) {
    const registered = new Set<Query<unknown>>(node.queries.all());
    same(registered.size, node.queries.size, "registered queries");
    for (const query of registered) {
      let users = 0;
      for (let link = query.users; link !== undefined; link = link.nextUser) users++;
      same(live.get(query), users, "users of a query");
      checkResult(query);
    }
    for (const index of node.indexes) {
      for (const row of node.rows()) {
        const value: unknown = node.valueOf(row);
        for (const key of index.groupKeys()) {
          const holds = value !== undefined && index.holds(value, key);
          same(index.has(row, key), holds, `index ${index.name}, key ${String(key)}`);
        }
      }
    }
  }
  for (const query of live.keys()) {
    check(new Set(query.source.queries.all()).has(query), "a linked query is registered");
  }
}

/** A result from the cache must be the one a scan with every filter gives. */
function checkResult(query: Query<unknown>): void {
  const { source } = query;
  const always = where(() => true) as unknown as FilterSpec;
  const filters = query.filters.length === 0 ? [always] : query.filters;
  const expected = new Set<unknown>();
  for (const row of source.rows()) {
    const value: unknown = source.valueOf(row);
    if (value === undefined) continue;
    if (filters.every((filter) => filter.test(source.kind, row.key, value))) expected.add(value);
  }
  sameSets(new Set(query.read()), expected, "result of a query");
}
