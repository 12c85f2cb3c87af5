import type { ResourceAddress } from "../address/address.ts";
import { type ContentAttribute, readAttributes } from "../config/body-content.ts";
import { resourceAddress } from "../config/check-references.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type { CheckConfig, ModuleCall, ResourceConfig } from "../config/module-config.ts";
import type { EdgeReason, GraphNode } from "./graph-node.ts";
import type { ProviderResolution, ResolvedProvider } from "./provider-resolution.ts";

/** Types whose resources could be taken for something else; their addresses have an equal too. */
const AMBIGUOUS = /^(?:var|local|output|module|check)\./;

/** The id of a resource in its module: its address, written so that it is nothing else's. */
export function resourceId(address: string): string {
  return AMBIGUOUS.test(address) ? `resource.${address}` : address;
}

/** The id of the node of a resource, in any module. Keys in the address do not count. */
export function resourceNodeId(address: ResourceAddress): string {
  const prefix = address.module.map(({ name }) => `module.${name}.`).join("");
  return prefix + resourceId(resourceAddress({ ...address, key: undefined }));
}

/** Nodes while edges are added. */
export type OpenNode = GraphNode & {
  readonly dependencies: Map<GraphNode, EdgeReason>;
  readonly dependents: Set<GraphNode>;
};

export interface ModuleDeclarations {
  readonly module: ModuleNode;
  /** What the ids of its nodes begin with. */
  readonly prefix: string;
  /** The node for how often the module exists; undefined for the root module. */
  readonly around: OpenNode | undefined;
  /** Data sources of checks, by the check. */
  readonly scoped: Map<CheckConfig, OpenNode>;
  readonly calls: Map<string, { readonly outputs: OpenNode; readonly end: OpenNode }>;
}

/** The nodes of a tree, without edges. */
export class Declarations {
  readonly nodes = new Map<string, OpenNode>();
  readonly scopes = new Map<ModuleNode, ModuleDeclarations>();
  readonly #providers: ProviderResolution;
  readonly #arguments = new Map<ModuleNode, ReadonlyMap<string, ContentAttribute>>();

  constructor(providers: ProviderResolution) {
    this.#providers = providers;
  }

  /** Adds the nodes of a module and of those below it. */
  declare(module: ModuleNode, around: OpenNode | undefined): ModuleDeclarations {
    const prefix = module.path.map((name) => `module.${name}.`).join("");
    const scope: ModuleDeclarations = {
      module,
      prefix,
      around,
      scoped: new Map(),
      calls: new Map(),
    };
    this.scopes.set(module, scope);
    const { config } = module;
    const given = this.#arguments.get(module);
    for (const [name, variable] of config.variables) {
      const argument = given?.get(name);
      this.add(scope, `var.${name}`, { kind: "variable", variable, argument }, variable.range);
      if (variable.validations.length > 0) {
        const id = `var.${name} (validation)`;
        this.add(scope, id, { kind: "validation", variable }, variable.range);
      }
    }
    for (const [name, local] of config.locals) {
      this.add(scope, `local.${name}`, { kind: "local", local }, local.range);
    }
    for (const [address, resource] of config.resources) {
      this.#resource(scope, address, resource, undefined);
    }
    for (const check of config.checks.values()) {
      if (check.data !== undefined) {
        const address = resourceAddress({ kind: "resource", ...check.data, key: undefined });
        const node = this.#resource(scope, address, check.data, check);
        scope.scoped.set(check, node);
      }
      this.add(scope, `check.${check.name}`, { kind: "check", check }, check.range);
    }
    for (const [name, call] of config.modules) this.#call(scope, name, call);
    for (const [name, output] of config.outputs) {
      this.add(scope, `output.${name}`, { kind: "output", output }, output.range);
    }
    return scope;
  }

  #resource(
    scope: ModuleDeclarations,
    address: string,
    resource: ResourceConfig,
    check: CheckConfig | undefined,
  ): OpenNode {
    const provider = this.#providers.forResource(scope.module, resource);
    const what = { kind: "resource", resource, provider, check } as const;
    return this.add(scope, resourceId(address), what, resource.range);
  }

  #call(scope: ModuleDeclarations, name: string, call: ModuleCall): void {
    const child = scope.module.children.get(name);
    if (child === undefined) return;
    const expansion = this.add(
      scope,
      `module.${name}`,
      { kind: "module", call, child },
      call.range,
    );
    this.#arguments.set(child, readAttributes(call.body, []));
    this.declare(child, expansion);
    const outputs = this.add(
      scope,
      `module.${name} (outputs)`,
      { kind: "module-outputs", child },
      call.range,
    );
    const end = this.add(scope, `module.${name} (end)`, { kind: "module-end", child }, call.range);
    scope.calls.set(name, { outputs, end });
  }

  /** Adds a node. Two declarations of one name are reported elsewhere; the first one counts. */
  add(
    { module, prefix }: Pick<ModuleDeclarations, "module" | "prefix">,
    name: string,
    what: Parts,
    range: GraphNode["range"],
  ): OpenNode {
    const id = prefix + name;
    const known = this.nodes.get(id);
    if (known !== undefined) return known;
    const dependencies = new Map<GraphNode, EdgeReason>();
    const node = { ...what, id, module, range, dependencies, dependents: new Set<GraphNode>() };
    this.nodes.set(id, node);
    return node;
  }

  /** The node of a provider configuration. */
  provider(provider: ResolvedProvider): OpenNode {
    const { module, address, config } = provider;
    return this.add({ module, prefix: "" }, address, { kind: "provider", provider }, config?.range);
  }
}

/** The members that distinguish the kinds of nodes, without those that all have. */
type Parts = GraphNode extends infer N
  ? N extends GraphNode
    ? Omit<N, "id" | "module" | "range" | "dependencies" | "dependents">
    : never
  : never;
