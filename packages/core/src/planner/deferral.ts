import type { Repetition } from "@stackwright/lang";
import {
  type ConfigGraph,
  type GraphNode,
  graphClosure,
  nodesOf,
  parseAddress,
} from "@stackwright/lang";
import type { DeferredPart } from "../plan/plan.ts";

/** A resource or a call of a module that cannot be planned before something was applied. */
export interface Waiting {
  /** Without keys: `module.a.aws_vpc.b`, `module.a.module.c`. */
  readonly address: string;
  readonly because: string;
}

/** The address of a block, as it is in the configuration. */
export function blockAddress(module: readonly string[], name: string): string {
  return [...module.map((step) => `module.${step}`), name].join(".");
}

/** Why the instances of a block are not known. */
export function unknownInstances({
  count,
  forEach,
}: Pick<Repetition, "count" | "forEach">): string {
  const argument = forEach !== undefined ? "for_each" : count !== undefined ? "count" : "enabled";
  return `its ${argument} depends on values that are known after this stage`;
}

/** Everything that is left to a later stage: what waits itself, and the resources that depend on it. */
export function deferredParts(
  graph: ConfigGraph,
  waiting: readonly Waiting[],
): readonly DeferredPart[] {
  const parts = new Map<string, DeferredPart>();
  const nodesBy = waiting.map((one) => {
    const { value } = parseAddress(one.address);
    return { ...one, nodes: value === undefined ? [] : nodesOf(graph, value) };
  });
  for (const { address, because } of waiting) parts.set(address, { address, because });
  for (const { address, nodes } of nodesBy) {
    for (const node of graphClosure(nodes, "dependents")) {
      const own = resourceAddress(node);
      if (own === undefined || parts.has(own) || own.startsWith(`${address}.`)) continue;
      parts.set(own, { address: own, because: `it depends on ${address}` });
    }
  }
  return [...parts.values()];
}

function resourceAddress(node: GraphNode): string | undefined {
  if (node.kind !== "resource" || node.resource.mode === "ephemeral") return undefined;
  const { mode, type, name } = node.resource;
  return blockAddress(node.module.path, `${mode === "data" ? "data." : ""}${type}.${name}`);
}
