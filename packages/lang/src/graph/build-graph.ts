import type { Address } from "../address/address.ts";
import { type ContentAttribute, readAttributes } from "../config/body-content.ts";
import { bodyReferences } from "../config/body-references.ts";
import { resourceAddress } from "../config/check-references.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type {
  CheckConfig,
  Condition,
  ImportConfig,
  ModuleCall,
  OutputConfig,
  ResourceConfig,
} from "../config/module-config.ts";
import { parseReference, type ReferenceSubject } from "../config/reference.ts";
import { PROVIDER_META, RESOURCE_META } from "../schema/bind-body.ts";
import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import { type Diagnostic, sourceRange } from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";
import { nativeForm } from "../syntax/static.ts";
import type { EdgeReason, GraphNode } from "./graph-node.ts";
import { orderNodes } from "./graph-order.ts";
import type { ProviderResolution, ResolvedProvider } from "./provider-resolution.ts";

/** Everything that a tree of modules declares, and what waits for what. */
export interface ConfigGraph {
  /** By id, in the order of declaration: outer modules first. */
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** All nodes, each behind what it depends on. The same for the same configuration. */
  readonly order: readonly GraphNode[];
  /** Cycles and references of things to themselves. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Builds the graph of a tree from its static references. Nothing is evaluated, so that a node
 * stands for all instances of what it declares. What is referred to but not declared is left to
 * `checkReferences`. Takes time in proportion to declarations and references.
 */
export function buildGraph(root: ModuleNode, providers: ProviderResolution): ConfigGraph {
  const builder = new Builder(providers);
  builder.declare(root, undefined);
  builder.connect();
  const { order, diagnostics } = orderNodes(builder.nodes.values());
  return { nodes: builder.nodes, order, diagnostics: [...builder.diagnostics, ...diagnostics] };
}

/** All nodes that the given ones need, themselves included: what a run with targets is about. */
export function graphClosure(
  nodes: Iterable<GraphNode>,
  direction: "dependencies" | "dependents" = "dependencies",
): ReadonlySet<GraphNode> {
  const closure = new Set(nodes);
  for (const node of closure) {
    // A set that grows while it is walked is walked to its end.
    for (const next of node[direction].keys()) closure.add(next);
  }
  return closure;
}

/** The nodes that an address stands for: a resource, or everything in a module. */
export function nodesOf({ nodes }: ConfigGraph, address: Address): GraphNode[] {
  const path = address.module.map(({ name }) => name);
  if (address.kind === "module") {
    const within = (module: ModuleNode, call?: string): boolean => {
      const own = call === undefined ? module.path : [...module.path, call];
      return path.every((name, at) => own[at] === name);
    };
    return [...nodes.values()].filter((node) =>
      within(node.module, node.kind === "module" ? node.call.name : undefined),
    );
  }
  const prefix = path.map((name) => `module.${name}.`).join("");
  const node = nodes.get(prefix + resourceId(resourceAddress(address)));
  return node === undefined ? [] : [node];
}

type NodeOf<K extends GraphNode["kind"]> = Extract<GraphNode, { kind: K }>;
/** Nodes while edges are added. */
type Open = GraphNode & {
  readonly dependencies: Map<GraphNode, EdgeReason>;
  readonly dependents: Set<GraphNode>;
};

interface Scope {
  readonly module: ModuleNode;
  readonly prefix: string;
  /** Number of the node for the module itself; undefined for the root module. */
  readonly around: Open | undefined;
  /** Data sources of checks, by the check. */
  readonly scoped: Map<CheckConfig, Open>;
  readonly calls: Map<string, { readonly outputs: Open; readonly end: Open }>;
}

/** Types whose resources could be taken for something else; their addresses have an equal too. */
const AMBIGUOUS = /^(?:var|local|output|module|check)\./;

/** The id of a resource in its module: its address, written so that it is nothing else's. */
function resourceId(address: string): string {
  return AMBIGUOUS.test(address) ? `resource.${address}` : address;
}

class Builder {
  readonly nodes = new Map<string, Open>();
  readonly diagnostics: Diagnostic[] = [];
  readonly #providers: ProviderResolution;
  readonly #scopes = new Map<ModuleNode, Scope>();
  readonly #arguments = new Map<ModuleNode, ReadonlyMap<string, ContentAttribute>>();

  constructor(providers: ProviderResolution) {
    this.#providers = providers;
  }

  // ---- nodes ----

  declare(module: ModuleNode, around: Open | undefined): Scope {
    const prefix = module.path.map((name) => `module.${name}.`).join("");
    const scope: Scope = { module, prefix, around, scoped: new Map(), calls: new Map() };
    this.#scopes.set(module, scope);
    const { config } = module;
    const given = this.#arguments.get(module);
    for (const [name, variable] of config.variables) {
      const argument = given?.get(name);
      this.#add(scope, `var.${name}`, { kind: "variable", variable, argument }, variable.range);
      if (variable.validations.length > 0) {
        const id = `var.${name} (validation)`;
        this.#add(scope, id, { kind: "validation", variable }, variable.range);
      }
    }
    for (const [name, local] of config.locals) {
      this.#add(scope, `local.${name}`, { kind: "local", local }, local.range);
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
      this.#add(scope, `check.${check.name}`, { kind: "check", check }, check.range);
    }
    for (const [name, call] of config.modules) this.#call(scope, name, call);
    for (const [name, output] of config.outputs) {
      this.#add(scope, `output.${name}`, { kind: "output", output }, output.range);
    }
    return scope;
  }

  #resource(
    scope: Scope,
    address: string,
    resource: ResourceConfig,
    check: CheckConfig | undefined,
  ): Open {
    const provider = this.#providers.forResource(scope.module, resource);
    const what = { kind: "resource", resource, provider, check } as const;
    return this.#add(scope, resourceId(address), what, resource.range);
  }

  #call(scope: Scope, name: string, call: ModuleCall): void {
    const child = scope.module.children.get(name);
    if (child === undefined) return;
    const expansion = this.#add(
      scope,
      `module.${name}`,
      { kind: "module", call, child },
      call.range,
    );
    this.#arguments.set(child, readAttributes(call.body, []));
    this.declare(child, expansion);
    const outputs = this.#add(
      scope,
      `module.${name} (outputs)`,
      { kind: "module-outputs", child },
      call.range,
    );
    const end = this.#add(scope, `module.${name} (end)`, { kind: "module-end", child }, call.range);
    scope.calls.set(name, { outputs, end });
  }

  /** Adds a node. Two declarations of one name are reported elsewhere; the first one counts. */
  #add(
    { module, prefix }: Pick<Scope, "module" | "prefix">,
    name: string,
    what: Parts,
    range: GraphNode["range"],
  ): Open {
    const id = prefix + name;
    const known = this.nodes.get(id);
    if (known !== undefined) return known;
    const dependencies = new Map<GraphNode, EdgeReason>();
    const node = { ...what, id, module, range, dependencies, dependents: new Set<GraphNode>() };
    this.nodes.set(id, node);
    return node;
  }

  #providerNode(provider: ResolvedProvider): Open {
    const { module, address, config } = provider;
    const known = this.nodes.get(address);
    if (known !== undefined) return known;
    const what = { kind: "provider", provider } as const;
    const node = this.#add({ module, prefix: "" }, address, what, config?.range);
    this.#inside(node);
    if (config !== undefined) {
      this.#refer(node, module, bodyReferences(config.body, PROVIDER_META), "reference");
    }
    return node;
  }

  // ---- edges ----

  connect(): void {
    for (const provider of this.#providers.configurations.values()) this.#providerNode(provider);
    for (const node of this.nodes.values()) this.#connect(node);
    for (const { module } of this.#scopes.values()) {
      for (const declaration of module.config.imports) this.#import(module, declaration);
    }
  }

  #edge(from: Open, to: Open | undefined, reason: EdgeReason): void {
    if (to === undefined || from.dependencies.has(to)) return;
    if (from === to) {
      this.#selfReference(from, reason);
      return;
    }
    from.dependencies.set(to, reason);
    to.dependents.add(from);
  }

  #selfReference({ id }: Open, { range }: EdgeReason): void {
    this.diagnostics.push({
      severity: "error",
      code: "LANG_CYCLE",
      summary: "Self-referential block",
      detail: `${id} refers to itself. Its own values are not known while it is being worked out.`,
      ...(range !== undefined && { subject: range }),
    });
  }

  /** What is in a module waits until it is known how often the module exists. */
  #inside(node: Open): void {
    const around = this.#scopes.get(node.module)?.around;
    if (around !== undefined) this.#edge(node, around, { kind: "module", range: undefined });
  }

  #connect(node: Open): void {
    const { module } = node;
    if (node.kind !== "provider") this.#inside(node);
    switch (node.kind) {
      case "variable": {
        const scope = this.#scopes.get(module);
        const caller = scope?.around?.module;
        if (node.argument === undefined || caller === undefined) return;
        this.#expressions(node, caller, [node.argument.expression]);
        return;
      }
      case "validation":
        this.#conditions(node, module, node.variable.validations);
        this.#edge(node, this.nodes.get(node.id.slice(0, -" (validation)".length)), PART);
        return;
      case "local":
        this.#expressions(node, module, [node.local.expression]);
        return;
      case "output":
        this.#output(node, module, node.output);
        return;
      case "resource":
        this.#resourceEdges(node, module, node);
        return;
      case "module":
        this.#expressions(node, module, [node.call.count, node.call.forEach]);
        this.#refer(node, module, node.call.dependsOn, "depends_on");
        return;
      case "module-outputs":
      case "module-end":
        this.#parts(node, node.child, node.kind === "module-end");
        return;
      case "check":
        this.#edge(node, this.#scopes.get(module)?.scoped.get(node.check), PART);
        this.#conditions(node, module, node.check.assertions);
        return;
      case "provider":
        return;
      default:
        node satisfies never;
    }
  }

  #output(node: Open, module: ModuleNode, output: OutputConfig): void {
    this.#expressions(node, module, [output.expression]);
    this.#conditions(node, module, output.preconditions);
    this.#refer(node, module, output.dependsOn, "depends_on");
  }

  #resourceEdges(
    node: Open,
    module: ModuleNode,
    { resource, provider }: Pick<NodeOf<"resource">, "resource" | "provider">,
  ): void {
    const { lifecycle } = resource;
    this.#expressions(node, module, [resource.count, resource.forEach]);
    this.#refer(node, module, bodyReferences(resource.body, RESOURCE_META), "reference");
    this.#expressions(node, module, lifecycle.replaceTriggeredBy);
    this.#conditions(node, module, [...lifecycle.preconditions, ...lifecycle.postconditions]);
    this.#refer(node, module, resource.dependsOn, "depends_on");
    if (provider === undefined) return;
    const range = resource.provider?.range ?? resource.range;
    this.#edge(node, this.#providerNode(provider), { kind: "provider", range });
  }

  /** What a node for a called module as a whole consists of. */
  #parts(node: Open, child: ModuleNode, everything: boolean): void {
    const scope = this.#scopes.get(child);
    if (scope === undefined) return;
    this.#edge(node, scope.around, PART);
    const { config } = child;
    for (const name of config.outputs.keys()) this.#part(node, scope, `output.${name}`);
    if (!everything) return;
    for (const name of config.variables.keys()) this.#part(node, scope, `var.${name}`);
    for (const address of config.resources.keys()) this.#part(node, scope, resourceId(address));
    for (const name of config.checks.keys()) this.#part(node, scope, `check.${name}`);
    for (const { end } of scope.calls.values()) this.#edge(node, end, PART);
  }

  #part(node: Open, { prefix }: Scope, name: string): void {
    this.#edge(node, this.nodes.get(prefix + name), PART);
  }

  #import(module: ModuleNode, declaration: ImportConfig): void {
    const { value: to } = nativeForm(declaration.to);
    const [target] = to === undefined ? [] : expressionReferences(to);
    if (target === undefined) return;
    const node = this.#importTarget(module, target);
    if (node === undefined) return;
    const { id, identity, forEach } = declaration;
    for (const expression of [id, identity, forEach]) {
      if (expression === undefined) continue;
      this.#refer(node, module, expressionReferences(expression), "import");
    }
  }

  /** The resource that the `to` of an import block is about, in this module or one below it. */
  #importTarget(module: ModuleNode, { root, steps }: ScopeTraversal): Open | undefined {
    const names = [root, ...steps.flatMap((s) => (s.kind === "attribute-step" ? [s.name] : []))];
    let place: ModuleNode | undefined = module;
    while (names[0] === "module") {
      place = place?.children.get(names[1] ?? "");
      names.splice(0, 2);
    }
    const scope = place === undefined ? undefined : this.#scopes.get(place);
    if (names[0] === "resource") names.shift();
    return scope === undefined
      ? undefined
      : this.nodes.get(scope.prefix + resourceId(names.join(".")));
  }

  #conditions(node: Open, module: ModuleNode, conditions: readonly Condition[]): void {
    for (const { condition, errorMessage } of conditions) {
      this.#expressions(node, module, [condition, errorMessage]);
    }
  }

  #expressions(
    node: Open,
    module: ModuleNode,
    expressions: readonly (Expression | undefined)[],
  ): void {
    for (const expression of expressions) {
      if (expression === undefined) continue;
      this.#refer(node, module, expressionReferences(expression), "reference");
    }
  }

  #refer(
    node: Open,
    module: ModuleNode,
    references: readonly ScopeTraversal[],
    kind: "reference" | "depends_on" | "import",
  ): void {
    const scope = this.#scopes.get(module);
    if (scope === undefined) return;
    for (const traversal of references) {
      const reference = parseReference(traversal);
      if (reference === undefined) continue;
      const { source, start, end } = traversal;
      const range = sourceRange(source, start, end);
      this.#edge(node, this.#target(scope, reference.subject, kind), { kind, range });
    }
  }

  #target(
    { module, prefix, calls }: Scope,
    subject: ReferenceSubject,
    kind: "reference" | "depends_on" | "import",
  ): Open | undefined {
    switch (subject.kind) {
      case "variable":
        return this.nodes.get(`${prefix}var.${subject.name}`);
      case "local":
        return this.nodes.get(`${prefix}local.${subject.name}`);
      case "resource":
        return this.nodes.get(prefix + resourceId(resourceAddress(subject)));
      case "module": {
        const call = calls.get(subject.name);
        if (kind === "depends_on") return call?.end;
        const { output } = subject;
        const known = module.children.get(subject.name)?.config.outputs.has(output ?? "") === true;
        if (output === undefined || !known) return call?.outputs;
        return this.nodes.get(`${prefix}module.${subject.name}.output.${output}`);
      }
      case "each":
      case "count":
      case "self":
      case "path":
      case "terraform":
        return undefined;
      default:
        return subject satisfies never;
    }
  }
}

const PART: EdgeReason = { kind: "module", range: undefined };

/** What tells the kinds of nodes apart, without what all of them have. */
type Parts = GraphNode extends infer N
  ? N extends GraphNode
    ? Omit<N, "id" | "module" | "range" | "dependencies" | "dependents">
    : never
  : never;
