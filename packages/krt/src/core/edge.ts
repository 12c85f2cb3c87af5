import type { AnyNode } from "./node.ts";

/** Why a node reads another. */
export type EdgeType =
  /** It takes in every change: the primary of a derivation, the member of a join, the base of a view. */
  | "input"
  /** Declared with the derivation: all inputs fetch it. */
  | "static"
  /** Found at run time: at least one input fetched it in its last run. */
  | "fetch";

/**
 * "`reader` reads `source`". There is at most one edge of each type between two nodes. `count` is the
 * number of reasons (links, memberships); the edge exists while it is positive. For every edge
 * `reader.level > source.level`.
 */
export class Edge {
  readonly source: AnyNode;
  readonly reader: AnyNode;
  readonly type: EdgeType;
  count = 0;

  constructor(source: AnyNode, reader: AnyNode, type: EdgeType) {
    this.source = source;
    this.reader = reader;
    this.type = type;
  }
}
