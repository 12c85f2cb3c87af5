import { unkeyedAddress } from "../address/parse-address.ts";
import { bodyReferences } from "../config/body-references.ts";
import { resourceAddress } from "../config/check-references.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type {
  ConditionRule,
  ImportConfig,
  OutputConfig,
  ResourceConfig,
} from "../config/module-config.ts";
import { parseReference, type ReferenceSubject } from "../config/reference.ts";
import { PROVIDER_META, RESOURCE_META } from "../schema/bind-body.ts";
import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import { type Diagnostic, sourceRange } from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";
import {
  Declarations,
  type ModuleDeclarations,
  type OpenNode,
  resourceId,
  resourceNodeId,
} from "./declare-nodes.ts";
import type { EdgeReason, GraphNode } from "./graph-node.ts";
import { orderNodes } from "./graph-order.ts";
import type { ProviderResolution } from "./provider-resolution.ts";

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
  const declarations = new Declarations(providers);
  declarations.declare(root, undefined);
  for (const provider of providers.configurations.values()) {
    // Instances are what their configuration is made of.
    if (provider.instance === undefined) declarations.provider(provider);
  }
  const connector = new Connector(declarations, providers);
  connector.connect();
  const { nodes } = declarations;
  const { order, diagnostics } = orderNodes(nodes.values());
  return { nodes, order, diagnostics: [...connector.diagnostics, ...diagnostics] };
}

/** Arguments of provisioners that are words and no references. */
const PROVISIONER_KEYWORDS: ReadonlySet<string> = new Set(["when", "on_failure"]);

type NodeOf<K extends GraphNode["kind"]> = Extract<GraphNode, { kind: K }>;
/** Adds the edges. */
class Connector {
  readonly diagnostics: Diagnostic[] = [];
  readonly #declarations: Declarations;
  readonly #providers: ProviderResolution;

  constructor(declarations: Declarations, providers: ProviderResolution) {
    this.#declarations = declarations;
    this.#providers = providers;
  }

  get #nodes(): Declarations["nodes"] {
    return this.#declarations.nodes;
  }

  get #scopes(): Declarations["scopes"] {
    return this.#declarations.scopes;
  }

  connect(): void {
    for (const node of this.#nodes.values()) this.#connect(node);
    for (const { module } of this.#scopes.values()) {
      for (const declaration of module.config.imports) this.#import(module, declaration);
    }
  }

  #edge(from: OpenNode, to: OpenNode | undefined, reason: EdgeReason): void {
    if (to === undefined || from.dependencies.has(to)) return;
    if (from === to) {
      this.#selfReference(from, reason);
      return;
    }
    from.dependencies.set(to, reason);
    to.dependents.add(from);
  }

  #selfReference({ id }: OpenNode, { range }: EdgeReason): void {
    this.diagnostics.push({
      severity: "error",
      code: "LANG_CYCLE",
      summary: "Self-referential block",
      detail: `${id} refers to itself. Its own values are not known while it is being worked out.`,
      ...(range !== undefined && { subject: range }),
    });
  }

  /** What is in a module waits until it is known how often the module exists. */
  #inside(node: OpenNode): void {
    const around = this.#scopes.get(node.module)?.around;
    if (around !== undefined) this.#edge(node, around, { kind: "module", range: undefined });
  }

  #connect(node: OpenNode): void {
    const { module } = node;
    this.#inside(node);
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
        this.#edge(node, this.#nodes.get(node.id.slice(0, -" (validation)".length)), PART);
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
        this.#edge(node, this.#callOf(node.module, node.child)?.end, PART);
        return;
      case "module-end":
        this.#parts(node, node.child);
        return;
      case "check":
        this.#edge(node, this.#scopes.get(module)?.scoped.get(node.check), PART);
        this.#conditions(node, module, node.check.assertions);
        return;
      case "provider": {
        const { config } = node.provider;
        if (config === undefined || config.scope !== undefined) return;
        this.#refer(node, module, bodyReferences(config.body, PROVIDER_META), "reference");
        this.#expressions(node, module, [config.forEach]);
        return;
      }
      default:
        node satisfies never;
    }
  }

  #output(node: OpenNode, module: ModuleNode, output: OutputConfig): void {
    this.#expressions(node, module, [output.expression]);
    this.#conditions(node, module, output.preconditions);
    this.#refer(node, module, output.dependsOn, "depends_on");
  }

  #resourceEdges(
    node: OpenNode,
    module: ModuleNode,
    { resource, provider }: Pick<NodeOf<"resource">, "resource" | "provider">,
  ): void {
    const { lifecycle } = resource;
    this.#expressions(node, module, [resource.count, resource.forEach, resource.enabled]);
    this.#refer(node, module, bodyReferences(resource.body, RESOURCE_META), "reference");
    this.#expressions(node, module, lifecycle.replaceTriggeredBy);
    this.#conditions(node, module, [...lifecycle.preconditions, ...lifecycle.postconditions]);
    this.#provisioners(node, module, resource);
    this.#refer(node, module, resource.dependsOn, "depends_on");
    if (provider === undefined) return;
    const key = this.#providers.keyOf(module, resource);
    const caller = key?.passedTo && this.#scopes.get(key.passedTo)?.around?.module;
    if (key !== undefined) this.#expressions(node, caller ?? module, [key.expression]);
    const range = resource.provider?.range ?? resource.range;
    this.#edge(node, this.#declarations.provider(provider), { kind: "provider", range });
  }

  /** What provisioners of created objects read. Those of destroyed ones refer to nothing else. */
  #provisioners(
    node: OpenNode,
    module: ModuleNode,
    { provisioners, connection }: ResourceConfig,
  ): void {
    const created = provisioners.filter(({ when }) => when === "create");
    for (const { body } of created) {
      this.#refer(node, module, bodyReferences(body, PROVISIONER_KEYWORDS), "reference");
    }
    if (connection === undefined || created.length === 0) return;
    this.#refer(node, module, bodyReferences(connection), "reference");
  }

  #callOf(caller: ModuleNode, child: ModuleNode): { readonly end: OpenNode } | undefined {
    return this.#scopes.get(caller)?.calls.get(child.path.at(-1) ?? "");
  }

  /** Everything in a called module. */
  #parts(node: OpenNode, child: ModuleNode): void {
    const scope = this.#scopes.get(child);
    if (scope === undefined) return;
    this.#edge(node, scope.around, PART);
    const { config } = child;
    for (const name of config.outputs.keys()) this.#part(node, scope, `output.${name}`);
    for (const name of config.variables.keys()) {
      this.#part(node, scope, `var.${name}`);
      this.#part(node, scope, `var.${name} (validation)`);
    }
    for (const address of config.resources.keys()) this.#part(node, scope, resourceId(address));
    for (const name of config.checks.keys()) this.#part(node, scope, `check.${name}`);
    for (const { end } of scope.calls.values()) this.#edge(node, end, PART);
  }

  #part(node: OpenNode, { prefix }: ModuleDeclarations, name: string): void {
    this.#edge(node, this.#nodes.get(prefix + name), PART);
  }

  #import(module: ModuleNode, { to, id, identity, forEach }: ImportConfig): void {
    const target = unkeyedAddress(to, []);
    if (target?.address.kind !== "resource") return;
    const node = this.#nodes.get(resourceNodeId(target.address));
    if (node === undefined) return;
    for (const expression of [id, identity, forEach, ...target.keys]) {
      if (expression === undefined) continue;
      this.#refer(node, module, expressionReferences(expression), "import");
    }
  }

  #conditions(node: OpenNode, module: ModuleNode, conditions: readonly ConditionRule[]): void {
    for (const { condition, errorMessage } of conditions) {
      this.#expressions(node, module, [condition, errorMessage]);
    }
  }

  #expressions(
    node: OpenNode,
    module: ModuleNode,
    expressions: readonly (Expression | undefined)[],
  ): void {
    for (const expression of expressions) {
      if (expression === undefined) continue;
      this.#refer(node, module, expressionReferences(expression), "reference");
    }
  }

  #refer(
    node: OpenNode,
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
      const reason = { kind, range: sourceRange(source, start, end) };
      this.#edge(node, this.#target(scope, reference.subject, kind), reason);
      if (reference.subject.kind !== "variable") continue;
      // A value is used when its conditions have been decided, by conditions of other variables too; its own see it before.
      const id = `${scope.prefix}var.${reference.subject.name} (validation)`;
      if (id !== node.id) this.#edge(node, this.#nodes.get(id), reason);
    }
  }

  #target(
    { module, prefix, calls }: ModuleDeclarations,
    subject: ReferenceSubject,
    kind: "reference" | "depends_on" | "import",
  ): OpenNode | undefined {
    switch (subject.kind) {
      case "variable":
        return this.#nodes.get(`${prefix}var.${subject.name}`);
      case "local":
        return this.#nodes.get(`${prefix}local.${subject.name}`);
      case "resource":
        return this.#nodes.get(prefix + resourceId(resourceAddress(subject)));
      case "module": {
        const call = calls.get(subject.name);
        if (kind === "depends_on") return call?.end;
        const { output } = subject;
        const known = module.children.get(subject.name)?.config.outputs.has(output ?? "") === true;
        if (output === undefined || !known) return call?.outputs;
        return this.#nodes.get(`${prefix}module.${subject.name}.output.${output}`);
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
