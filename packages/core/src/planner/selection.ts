import {
  type Address,
  type ConfigGraph,
  containsAddress,
  type Diagnostic,
  type GraphNode,
  graphClosure,
  nodesOf,
  parseAddress,
} from "@stackwright/lang";

/** Which part of a configuration and of a state a plan is about. */
export interface Selection {
  readonly partial: boolean;
  /** Whether a node is walked at all. */
  includesNode(node: GraphNode): boolean;
  /** Whether an instance of a walked resource is planned, or an object that nothing declares is removed. */
  includesAddress(address: string, declared: boolean): boolean;
  /** Whether an address is among the excludes, or in a module that is. */
  isExcluded(address: string): boolean;
  /** Whether an address is excluded, or declared to depend on what is: its object stays as it is, with what it needs. */
  isLeftOut(address: string): boolean;
}

const EVERYTHING: Selection = {
  partial: false,
  includesNode: () => true,
  includesAddress: () => true,
  isExcluded: () => false,
  isLeftOut: () => false,
};

/**
 * Targets: what they name and everything that it depends on. Excludes: everything but what they name and what depends on
 * it. What is not selected is neither read nor changed, and objects without a declaration stay unless they are named.
 */
export function selectPart(
  graph: ConfigGraph,
  {
    targets,
    excludes,
  }: { readonly targets: readonly string[]; readonly excludes: readonly string[] },
  diagnostics: Diagnostic[],
): Selection {
  if (targets.length === 0 && excludes.length === 0) return EVERYTHING;
  const named = readAddresses(targets, "target", diagnostics);
  const left = readAddresses(excludes, "exclude", diagnostics);
  const wanted = named.length === 0 ? undefined : wantedNodes(graph, named);
  const unwanted = unwantedNodes(graph, left);
  const includesNode = (node: GraphNode): boolean =>
    !unwanted.whole.has(node) && isWanted(node, wanted);
  const isExcluded = (address: Address): boolean =>
    left.some((one) => containsAddress(one, address));
  return {
    partial: true,
    includesNode,
    isExcluded(address) {
      const { value } = parseAddress(address);
      return value !== undefined && isExcluded(value);
    },
    isLeftOut(address) {
      const { value } = left.length === 0 ? {} : parseAddress(address);
      if (value === undefined) return false;
      return isExcluded(value) || nodesOf(graph, value).some((node) => unwanted.whole.has(node));
    },
    includesAddress(address, declared) {
      const { value } = parseAddress(address);
      if (value === undefined) return false;
      if (isExcluded(value)) return false;
      if (wanted === undefined) return true;
      if (named.some((one) => containsAddress(one, value))) return true;
      if (!declared) return false;
      const [node] = nodesOf(graph, value);
      return node !== undefined && wanted.dependencies.has(node);
    },
  };
}

interface Wanted {
  readonly named: ReadonlySet<GraphNode>;
  /** Named in all their instances. */
  readonly whole: ReadonlySet<GraphNode>;
  /** Needed by a selected object; as a whole, regardless of which instances were selected. */
  readonly dependencies: ReadonlySet<GraphNode>;
}

function wantedNodes(graph: ConfigGraph, targets: readonly Address[]): Wanted {
  const named = new Set(targets.flatMap((target) => nodesOf(graph, target)));
  const whole = new Set(targets.filter(isWhole).flatMap((target) => nodesOf(graph, target)));
  // What a target consists of is named by it, with the keys that it has, and is not needed as a whole by itself.
  const direct = targets.flatMap((target) => {
    const own = new Set(nodesOf(graph, target));
    return [...own].flatMap((node) => [...node.dependencies.keys()].filter((one) => !own.has(one)));
  });
  return { named, whole, dependencies: graphClosure(direct) };
}

function isWhole(address: Address): boolean {
  return (
    address.module.every(({ key }) => key === undefined) &&
    (address.kind === "module" || address.key === undefined)
  );
}

/** Outputs cannot be selected by an address: they are evaluated where all their dependencies are selected. */
function isWanted(node: GraphNode, wanted: Wanted | undefined): boolean {
  if (wanted === undefined || wanted.named.has(node) || wanted.dependencies.has(node)) return true;
  if (node.kind !== "output" || node.module.path.length > 0) return false;
  return [...graphClosure([node])].every(
    (needed) =>
      needed === node ||
      wanted.whole.has(needed) ||
      wanted.dependencies.has(needed) ||
      needed.kind === "variable" ||
      needed.kind === "local" ||
      needed.kind === "output" ||
      needed.kind === "module-outputs" ||
      needed.kind === "module" ||
      needed.kind === "provider",
  );
}

function unwantedNodes(
  graph: ConfigGraph,
  excludes: readonly Address[],
): { readonly whole: ReadonlySet<GraphNode> } {
  const whole = new Set<GraphNode>();
  for (const exclude of excludes) {
    const nodes = nodesOf(graph, exclude);
    const isPart =
      (exclude.kind === "resource" && exclude.key !== undefined) ||
      exclude.module.some(({ key }) => key !== undefined);
    const dependents = graphClosure(nodes, "dependents");
    for (const node of dependents) if (!isPart || !nodes.includes(node)) whole.add(node);
  }
  return { whole };
}

/** Addresses of an option. What is none is reported. */
export function readAddresses(
  texts: readonly string[],
  what: string,
  diagnostics: Diagnostic[],
): readonly Address[] {
  return texts.flatMap((text) => {
    const { value, diagnostics: problems } = parseAddress(text);
    diagnostics.push(...problems);
    if (value === undefined && problems.length === 0) {
      diagnostics.push({
        severity: "error",
        code: "ENGINE_PLAN",
        summary: `Invalid ${what} address`,
        detail: `"${text}" is not a valid module, resource or instance address.`,
      });
    }
    return value === undefined ? [] : [value];
  });
}
