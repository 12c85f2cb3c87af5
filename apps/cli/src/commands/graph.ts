import { type Graph, graphHtml, graphOf, graphSvg } from "@stackwright/console/graph";
import { type GraphNode, hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { loadProject } from "../session/project.ts";

export interface GraphOptions {
  readonly format: string;
  /** Variables, locals and outputs as well. */
  readonly all: boolean;
  /** The graph of an operation: all that is evaluated, in the order of a destroy for `plan-destroy`. */
  readonly type?: string;
}

const TYPES: ReadonlySet<string> = new Set(["plan", "plan-refresh-only", "plan-destroy", "apply"]);

/** Draws what depends on what: resources and modules, or everything that is written. */
export async function graph(options: GraphOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const write = FORMATS.get(options.format);
  if (write === undefined) {
    const known = [...FORMATS.keys()].join(", ");
    throw new CommandError(`Invalid format: "${options.format}".`, {
      advice: `Use one of ${known}.`,
    });
  }
  const { type } = options;
  if (type !== undefined && !TYPES.has(type)) {
    throw new CommandError(`Invalid graph type: "${type}".`, {
      advice: `Use one of ${[...TYPES].join(", ")}.`,
    });
  }
  const { configuration } = await loadProject(context);
  if (hasErrors(configuration.diagnostics)) {
    showDiagnostics(terminal, configuration.diagnostics);
    return EXIT.failed;
  }
  const all = options.all || type !== undefined;
  const { nodes, edges: found } = readGraph(configuration.graph.order, all);
  const edges = type === "plan-destroy" ? found.map(([from, to]): Edge => [to, from]) : found;
  terminal.write(write(nodes, edges));
  return EXIT.ok;
}

type Edge = readonly [from: string, to: string];
type Writer = (nodes: readonly string[], edges: readonly Edge[]) => string;

const TITLE = "What depends on what";
/** The pictures have the layout of the console's graphs. */
const FORMATS: ReadonlyMap<string, Writer> = new Map([
  ["dot", dot],
  ["mermaid", mermaid],
  ["svg", (nodes, edges) => graphSvg(pictureOf(nodes, edges), TITLE)],
  ["html", (nodes, edges) => graphHtml(pictureOf(nodes, edges), TITLE)],
]);

function pictureOf(nodes: readonly string[], edges: readonly Edge[]): Graph {
  return graphOf(
    nodes.map((name) => ({ id: name, label: name, module: "" })),
    edges,
  );
}

/** Nodes by address; what is not shown is passed through. */
function readGraph(
  order: readonly GraphNode[],
  all: boolean,
): { readonly nodes: readonly string[]; readonly edges: readonly Edge[] } {
  const shown = order.filter(({ kind }) => all || kind === "resource");
  const names = new Set(shown.map(({ id }) => id));
  const edges: Edge[] = [];
  for (const node of shown) {
    const seen = new Set<GraphNode>();
    const reach = (at: GraphNode): void => {
      for (const dependency of at.dependencies.keys()) {
        if (seen.has(dependency)) continue;
        seen.add(dependency);
        if (names.has(dependency.id)) edges.push([node.id, dependency.id]);
        else reach(dependency);
      }
    };
    reach(node);
  }
  return { nodes: [...names], edges };
}

function dot(nodes: readonly string[], edges: readonly Edge[]): string {
  const lines = [
    "digraph {",
    "  rankdir = RL",
    "  node [shape = box]",
    ...nodes.map((name) => `  ${JSON.stringify(name)}`),
    ...edges.map(([from, to]) => `  ${JSON.stringify(from)} -> ${JSON.stringify(to)}`),
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

function mermaid(nodes: readonly string[], edges: readonly Edge[]): string {
  const ids = new Map(nodes.map((name, index) => [name, `n${index}`]));
  const lines = [
    "flowchart RL",
    ...nodes.map((name) => `  ${ids.get(name) ?? ""}["${name.replaceAll('"', "#quot;")}"]`),
    ...edges.map(([from, to]) => `  ${ids.get(from) ?? ""} --> ${ids.get(to) ?? ""}`),
  ];
  return `${lines.join("\n")}\n`;
}
