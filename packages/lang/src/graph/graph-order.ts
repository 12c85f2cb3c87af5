import type { Diagnostic } from "../syntax/diagnostic.ts";
import type { EdgeReason, GraphNode } from "./graph-node.ts";

/** Nodes so that each stands behind what it depends on, and the cycles that make it impossible. */
interface GraphOrder {
  readonly order: readonly GraphNode[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Most cycles that are reported, and most steps of one that are shown. */
const MAX_CYCLES = 20;
const MAX_STEPS = 30;

/** A node on the way that is being walked, and what is left of its dependencies. */
interface Frame {
  readonly node: GraphNode;
  readonly rest: Iterator<GraphNode>;
}

/**
 * Orders nodes by a walk along their dependencies that leaves a node when all of these have been
 * left. The order follows from the order of nodes and dependencies alone. An edge back to a node on
 * the present way closes a cycle; it is reported and then ignored, so that every node is in the
 * order. Every edge is followed once. The way is kept in a list: chains may be longer than the stack
 * is deep.
 */
export function orderNodes(nodes: Iterable<GraphNode>): GraphOrder {
  const order: GraphNode[] = [];
  const done = new Set<GraphNode>();
  const open = new Map<GraphNode, number>();
  const reported = new Set<GraphNode>();
  const diagnostics: Diagnostic[] = [];
  for (const start of nodes) {
    if (done.has(start)) continue;
    const way: Frame[] = [];
    const enter = (node: GraphNode): void => {
      open.set(node, way.length);
      way.push({ node, rest: node.dependencies.keys() });
    };
    enter(start);
    for (let top = way.at(-1); top !== undefined; top = way.at(-1)) {
      const next = top.rest.next();
      if (next.done === true) {
        way.pop();
        open.delete(top.node);
        done.add(top.node);
        order.push(top.node);
        continue;
      }
      const target = next.value;
      if (done.has(target)) continue;
      const back = open.get(target);
      if (back === undefined) {
        enter(target);
      } else if (!(reported.has(top.node) && reported.has(target))) {
        const cycle = way.slice(back).map(({ node }) => node);
        for (const node of cycle) reported.add(node);
        if (diagnostics.length < MAX_CYCLES) diagnostics.push(describeCycle(cycle));
      }
    }
  }
  return { order, diagnostics };
}

/** `cycle` as nodes of which each depends on the next and the last one on the first. */
function describeCycle(cycle: readonly GraphNode[]): Diagnostic {
  const steps = cycle.map((node, at) => {
    const next = cycle[(at + 1) % cycle.length] ?? node;
    return { node, next, reason: node.dependencies.get(next) };
  });
  const shown = steps.slice(0, MAX_STEPS).map(({ node, next, reason }) => {
    return `  - ${node.id} ${verb(reason)} ${next.id}${place(reason)}`;
  });
  const more =
    steps.length > MAX_STEPS ? [`  - and so on, over ${steps.length - MAX_STEPS} more`] : [];
  const subject =
    steps.find(({ reason }) => reason?.range !== undefined)?.reason?.range ??
    cycle.find(({ range }) => range !== undefined)?.range;
  return {
    severity: "error",
    code: "LANG_CYCLE",
    summary: "Dependency cycle",
    detail: `These depend on each other, so that none of them can be the first:\n\n${[...shown, ...more].join("\n")}`,
    ...(subject !== undefined && { subject }),
  };
}

function verb(reason: EdgeReason | undefined): string {
  switch (reason?.kind) {
    case "depends_on":
      return "depends by depends_on on";
    case "provider":
      return "is managed with";
    case "import":
      return "is imported by what refers to";
    case "module":
      return "goes with";
    case "reference":
    case undefined:
    default:
      return "refers to";
  }
}

function place(reason: EdgeReason | undefined): string {
  if (reason?.range === undefined) return "";
  const { source, start, end } = reason.range;
  const { filename, start: from } = source.locate(start, end);
  return ` (${filename} line ${from.line})`;
}
