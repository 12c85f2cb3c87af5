import {
  type ConfigGraph,
  configAddress,
  formatAddress,
  graphClosure,
  nodesOf,
  parseAddress,
} from "@stackwright/lang";
import type { ResourceChange } from "./change.ts";

/**
 * What objects depend on in the reference command's form: the addresses, without keys, of all resources and data sources
 * that one needs directly or through others, in order. Of what is declared they are those of the declarations; of the others
 * those that were recorded.
 */
export class DeclaredDependencies {
  readonly #graph: ConfigGraph;
  readonly #changes = new Map<string, Set<string>>();
  readonly #known = new Map<string, readonly string[]>();

  constructor(graph: ConfigGraph, changes: readonly ResourceChange[]) {
    this.#graph = graph;
    for (const { address, dependencies } of changes) {
      const own = withoutKeys(address);
      const direct = this.#changes.get(own) ?? new Set();
      for (const one of dependencies) direct.add(withoutKeys(one.address));
      this.#changes.set(own, direct);
    }
  }

  of(address: string): readonly string[] {
    const own = withoutKeys(address);
    const known = this.#known.get(own);
    if (known !== undefined) return known;
    const all = new Set(this.#declared(own) ?? this.#changes.get(own));
    for (const next of all) {
      // A set that grows while it is walked is walked to its end.
      for (const further of this.#declared(next) ?? this.#changes.get(next) ?? []) all.add(further);
    }
    all.delete(own);
    const list = [...all].toSorted((a, b) => (a < b ? -1 : 1));
    this.#known.set(own, list);
    return list;
  }

  #declared(own: string): readonly string[] | undefined {
    const { value } = parseAddress(own);
    const node = value && nodesOf(this.#graph, value)[0];
    if (node === undefined) return undefined;
    return [...graphClosure([node])].flatMap((needed) =>
      needed.kind === "resource" && needed.resource.mode !== "ephemeral" && needed !== node
        ? [needed.id]
        : [],
    );
  }
}

function withoutKeys(address: string): string {
  const { value } = parseAddress(address);
  return value?.kind === "resource" ? formatAddress(configAddress(value)) : address;
}
