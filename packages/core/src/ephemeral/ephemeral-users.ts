import type { GraphNode } from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import { modulesOf } from "../configuration/configuration-digest.ts";

type ResourceNode = Extract<GraphNode, { kind: "resource" }>;

/** Whether a configuration has ephemeral resources at all. */
export function hasEphemerals({ root }: Pick<Configuration, "root">): boolean {
  for (const { config } of modulesOf(root)) {
    for (const { mode } of config.resources.values()) if (mode === "ephemeral") return true;
  }
  return false;
}

/**
 * When ephemeral resources are no longer needed in a walk over the static graph: after the last node that may read
 * their values. Values travel through locals, variables, outputs and other ephemeral resources, and end in objects. One
 * that a provider configuration reads stays needed for the whole walk: the provider is called again afterwards.
 */
export class EphemeralUsers {
  /** By node, the ephemeral resources that it may read. */
  readonly #used = new Map<GraphNode, ResourceNode[]>();
  /** Number of nodes that may still read it, by ephemeral resource. */
  readonly #left = new Map<ResourceNode, number>();

  constructor(nodes: readonly GraphNode[]) {
    const walked = new Set(nodes);
    for (const node of nodes) {
      if (!isEphemeral(node)) continue;
      const users = usersOf(node);
      if (users === undefined) continue;
      let count = 0;
      for (const user of users) {
        if (!walked.has(user)) continue;
        count += 1;
        const used = this.#used.get(user);
        if (used === undefined) this.#used.set(user, [node]);
        else used.push(node);
      }
      this.#left.set(node, count);
    }
  }

  /** Records that a node was walked. Returns the ephemeral resources that are no longer needed. */
  done(node: GraphNode): readonly ResourceNode[] {
    return (this.#used.get(node) ?? []).filter((used) => {
      const left = (this.#left.get(used) ?? 0) - 1;
      this.#left.set(used, left);
      return left === 0;
    });
  }
}

function isEphemeral(node: GraphNode): node is ResourceNode {
  return node.kind === "resource" && node.resource.mode === "ephemeral";
}

/** The resource itself and the nodes that may read its values; undefined where a provider configuration reads them. */
function usersOf(node: ResourceNode): ReadonlySet<GraphNode> | undefined {
  const users = new Set<GraphNode>([node]);
  // Grows while it is walked.
  for (const user of users) {
    if (user.kind === "provider") return undefined;
    if (user.kind === "resource" && user.resource.mode !== "ephemeral") continue;
    for (const dependent of user.dependents) users.add(dependent);
  }
  return users;
}
