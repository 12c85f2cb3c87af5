import { DerivedNode } from "../core/derived-node.ts";
import type { AnyNode } from "../core/node.ts";

type Query = ReturnType<AnyNode["queries"]["all"]> extends Iterable<infer Q> ? Q : never;

/** Inputs and fetches of a collection that are read for the description of an edge. */
const MAX_READ = 250;

/**
 * What one collection fetches from another, by its first inputs: the others run the same function, and a description that is asked for once
 * a second is not to cost more the more there are.
 */
export function queriesBetween(source: AnyNode, reader: AnyNode): ReadonlySet<Query> {
  const found = new Set<Query>();
  if (!(reader instanceof DerivedNode)) return found;
  let read = 0;
  for (const entry of reader.entries) {
    for (const { query } of reader.linksOf(entry)) {
      if ((query.source as AnyNode) === source) found.add(query as Query);
      if ((read += 1) >= MAX_READ) return found;
    }
    if ((read += 1) >= MAX_READ) return found;
  }
  return found;
}
