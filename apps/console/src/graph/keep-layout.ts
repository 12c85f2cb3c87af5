import type { Graph } from "./graph.ts";
import {
  COLUMN_GAP,
  type GraphLayout,
  layoutGraph,
  MARGIN,
  MAX_ROWS,
  ROW,
  WRAP_GAP,
  widthsOf,
} from "./layout-graph.ts";
import { neighborsOf, ranksOf } from "./rank-nodes.ts";

/** A graph where a user has seen it. */
export interface LaidOut {
  readonly graph: Graph;
  readonly layout: GraphLayout;
}

/** Nodes above each other. */
interface Column {
  rank: number;
  width: number;
  /** By the y of the place. */
  readonly taken: Map<number, number>;
}

/** Below this share of nodes that were there before, or that are still there, it is another picture. */
const MIN_KEPT = 0.5;

/**
 * The layout of a graph that has changed. What has its rank still stays where it is, and what is new takes free places near its
 * neighbors. Columns move to the right, as a whole, where one before them becomes wider or is new, and to the left where one is
 * empty. A graph that has little in common with the former one is laid out anew.
 */
export function keepLayout(graph: Graph, former: LaidOut): GraphLayout {
  const { nodes } = graph;
  const places = new Map(former.graph.nodes.map(({ id }, place) => [id, place]));
  const formerPlaces = nodes.map(({ id }) => places.get(id));
  const kept = formerPlaces.filter((place) => place !== undefined).length;
  if (kept < MIN_KEPT * Math.max(nodes.length, former.graph.nodes.length)) {
    return layoutGraph(graph);
  }
  const neighbors = neighborsOf(graph);
  const ranks = ranksOf(neighbors.needs);
  const widths = widthsOf(nodes);
  const y = new Float64Array(nodes.length).fill(Number.NaN);
  const columnOf: (Column | undefined)[] = Array.from(nodes, () => undefined);
  const columns = formerColumns(former, formerPlaces, ranks);
  const put = (node: number, column: Column, at: number): void => {
    column.taken.set(at, node);
    column.width = Math.max(column.width, widths[node] ?? 0);
    columnOf[node] = column;
    y[node] = at;
  };
  for (const [node, place] of formerPlaces.entries()) {
    if (place === undefined) continue;
    const column = columns.get(former.layout.x[place] ?? 0);
    if (column !== undefined && column.rank === ranks[node])
      put(node, column, former.layout.y[place] ?? 0);
  }
  const all = [...columns.values()].filter(({ taken }) => taken.size > 0);
  // What is needed first, so that it is known where what needs it belongs.
  const others = nodes.flatMap((_, node) => (columnOf[node] === undefined ? [node] : []));
  const byRank = others.toSorted((one, other) => (ranks[one] ?? 0) - (ranks[other] ?? 0));
  const ofRank = Map.groupBy(all, ({ rank }) => rank);
  for (const node of byRank) {
    const rank = ranks[node] ?? 0;
    const near = [...(neighbors.needs[node] ?? []), ...(neighbors.neededBy[node] ?? [])];
    const known = near.map((one) => y[one] ?? Number.NaN).filter((at) => !Number.isNaN(at));
    const wanted =
      known.length === 0
        ? former.layout.height / 2
        : known.reduce((sum, at) => sum + at, 0) / known.length;
    const own = ofRank.get(rank) ?? [];
    let column = own.find(({ taken }) => taken.size < MAX_ROWS);
    if (column === undefined) {
      column = { rank, width: 0, taken: new Map() };
      ofRank.set(rank, [...own, column]);
      all.push(column);
    }
    put(node, column, freePlace(column, wanted));
  }
  const left = leftSides(all);
  return {
    x: Float64Array.from(columnOf, (column) => (column && left.get(column)) ?? MARGIN),
    y,
    widths,
    width: Math.max(
      former.layout.width,
      ...all.map((one) => (left.get(one) ?? 0) + one.width + MARGIN),
    ),
    height: y.reduce((most, at) => Math.max(most, at + ROW + MARGIN), former.layout.height),
  };
}

/** The columns of the former layout by their x, each with the rank that most of what is left of it has. */
function formerColumns(
  { layout }: LaidOut,
  formerPlaces: readonly (number | undefined)[],
  ranks: Int32Array,
): Map<number, Column> {
  const columns = new Map<number, Column>();
  const votes = new Map<number, Map<number, number>>();
  for (const x of layout.x.toSorted()) {
    if (!columns.has(x)) columns.set(x, { rank: -1, width: 0, taken: new Map() });
  }
  for (const [place, x] of layout.x.entries()) {
    const column = columns.get(x);
    if (column !== undefined) column.width = Math.max(column.width, layout.widths[place] ?? 0);
  }
  for (const [node, place] of formerPlaces.entries()) {
    if (place === undefined) continue;
    const x = layout.x[place] ?? 0;
    const counts = votes.get(x) ?? new Map<number, number>();
    votes.set(x, counts);
    const rank = ranks[node] ?? 0;
    counts.set(rank, (counts.get(rank) ?? 0) + 1);
  }
  for (const [x, counts] of votes) {
    const column = columns.get(x);
    const [[rank] = [-1]] = [...counts].toSorted(([, one], [, other]) => other - one);
    if (column !== undefined) column.rank = rank;
  }
  return columns;
}

/** The free place of a column that is the nearest to where something is wanted, in the rows that the column has. */
function freePlace({ taken }: Column, wanted: number): number {
  const [first = MARGIN] = taken.keys();
  // The rows of a column are where its first node says.
  const top = first - Math.floor((first - MARGIN) / ROW) * ROW;
  const row = Math.max(0, Math.round((wanted - top) / ROW));
  for (let away = 0; ; away += 1) {
    for (const at of [row + away, row - away]) {
      if (at >= 0 && !taken.has(top + at * ROW)) return top + at * ROW;
    }
  }
}

/** From left to right by rank; those of one rank as they are. */
function leftSides(columns: readonly Column[]): ReadonlyMap<Column, number> {
  const sorted = columns.toSorted((one, other) => one.rank - other.rank);
  const found = new Map<Column, number>();
  let left = MARGIN;
  for (const [at, column] of sorted.entries()) {
    found.set(column, left);
    left += column.width + (sorted[at + 1]?.rank === column.rank ? WRAP_GAP : COLUMN_GAP);
  }
  return found;
}
