import {
  type BoundBlock,
  type BoundBody,
  bindBody,
  type Expression,
  expressionReferences,
  type InstanceKey,
  type ModuleNode,
  type ModulePath,
  parseReference,
  RESOURCE_META,
  type ReferenceSubject,
  type ResourceConfig,
  readAttributes,
  type ScopeTraversal,
  type TraversalStep,
} from "@stackwright/lang";
import type { BlockSchema } from "@stackwright/mux/router";

/** A reference as it is found: where it stands, what it is about, and what it takes from that. */
interface PlacedReference {
  /** The instance of the module that it stands in. A step has no key where the reference has none that is literal. */
  readonly module: ModulePath;
  readonly subject: ReferenceSubject;
  readonly steps: readonly TraversalStep[];
  /** The resource in whose block it stands, for `count.index` and `each`. */
  readonly within?: ResourceConfig;
}

/** Attribute of a resource that something refers to. */
interface ContributingAttribute {
  readonly module: ModulePath;
  readonly mode: ResourceConfig["mode"];
  readonly type: string;
  readonly name: string;
  /** Undefined as well where the reference names the resource as a whole, or computes the key. */
  readonly key: InstanceKey | undefined;
  readonly path: readonly (string | number)[];
}

/** The schema of a resource of the configuration; undefined where there is none. */
type BlockSchemaOf = (module: ModuleNode, resource: ResourceConfig) => BlockSchema | undefined;

/**
 * Finds what resources and outputs refer to, directly and through locals, variables, outputs and the arguments of other
 * resources, as the reference command does: nothing is evaluated, and a reference to one attribute leads on to what that
 * attribute is made of alone. `count`, `for_each` of module calls, `depends_on`, conditions and provisioners lead nowhere.
 */
export class ContributingReferences {
  readonly #root: ModuleNode;
  readonly #schemaOf: BlockSchemaOf;
  readonly #found = new Map<string, ContributingAttribute>();
  readonly #seen = new Set<string>();
  readonly #pending: PlacedReference[] = [];
  readonly #bodies = new Map<ResourceConfig, BoundBody | undefined>();

  constructor(root: ModuleNode, schemaOf: BlockSchemaOf) {
    this.#root = root;
    this.#schemaOf = schemaOf;
  }

  /** What the arguments of a resource refer to. What has no block any more refers to nothing. */
  followResource(
    module: ModulePath,
    mode: ResourceConfig["mode"],
    type: string,
    name: string,
  ): void {
    this.#pending.push(...this.#ofResource(module, { mode, type, name }, []));
    this.#drain();
  }

  /** What an output of a module, or of the configuration, refers to. */
  followOutput(module: ModulePath, name: string): void {
    this.#pending.push(...this.#ofOutput(module, name));
    this.#drain();
  }

  found(): Iterable<ContributingAttribute> {
    return this.#found.values();
  }

  #drain(): void {
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      const key = keyOf(next);
      if (this.#seen.has(key)) continue;
      this.#seen.add(key);
      const { module, subject, steps } = next;
      if (subject.kind === "resource") {
        const { mode, type, name, key: instance } = subject;
        const path = steps.map(stepKey);
        this.#found.set(key, { module, mode, type, name, key: instance, path });
      }
      this.#pending.push(...this.#behind(next));
    }
  }

  #behind({ module, subject, steps, within }: PlacedReference): readonly PlacedReference[] {
    switch (subject.kind) {
      case "variable":
        return this.#ofArgument(module, subject.name);
      case "local":
        return placed(module, this.#node(module)?.config.locals.get(subject.name)?.expression);
      case "resource":
        return this.#ofResource(module, subject, steps);
      case "module": {
        const child = [...module, { name: subject.name, key: subject.key }];
        const names =
          subject.output === undefined
            ? [...(this.#node(child)?.config.outputs.keys() ?? [])]
            : [subject.output];
        return names.flatMap((name) => this.#ofOutput(child, name));
      }
      case "each":
      case "count":
        return [
          ...placed(module, within?.count, within),
          ...placed(module, within?.forEach, within),
        ];
      case "self":
      case "path":
      case "terraform":
      default:
        return [];
    }
  }

  #node(module: ModulePath): ModuleNode | undefined {
    return module.reduce<ModuleNode | undefined>(
      (node, { name }) => node?.children.get(name),
      this.#root,
    );
  }

  #ofArgument(module: ModulePath, name: string): readonly PlacedReference[] {
    const caller = module.slice(0, -1);
    const call = this.#node(caller)?.config.modules.get(module.at(-1)?.name ?? "");
    if (call === undefined) return [];
    for (const [input, { expression }] of readAttributes(call.body, [])) {
      if (input === name) return placed(caller, expression);
    }
    return [];
  }

  #ofOutput(module: ModulePath, name: string): readonly PlacedReference[] {
    return placed(module, this.#node(module)?.config.outputs.get(name)?.expression);
  }

  #ofResource(
    module: ModulePath,
    { mode, type, name }: Pick<ResourceConfig, "mode" | "type" | "name">,
    steps: readonly TraversalStep[],
  ): readonly PlacedReference[] {
    const node = this.#node(module);
    const resource = node && resourceOf(node, { mode, type, name });
    if (node === undefined || resource === undefined) return [];
    if (!this.#bodies.has(resource)) {
      const schema = this.#schemaOf(node, resource);
      const body = schema && bindBody(resource.body, schema, { meta: RESOURCE_META }).body;
      this.#bodies.set(resource, body);
    }
    const body = this.#bodies.get(resource);
    if (body === undefined) return [];
    return placedTraversals(module, narrowed([body], steps), resource);
  }
}

function resourceOf(
  { config }: ModuleNode,
  { mode, type, name }: Pick<ResourceConfig, "mode" | "type" | "name">,
): ResourceConfig | undefined {
  const is = (one: ResourceConfig): boolean =>
    one.mode === mode && one.type === type && one.name === name;
  for (const one of config.resources.values()) if (is(one)) return one;
  for (const { data } of config.checks.values()) if (data !== undefined && is(data)) return data;
  return undefined;
}

/** The references in the part of some bodies that the steps lead to. */
function narrowed(
  bodies: readonly BoundBody[],
  steps: readonly TraversalStep[],
): readonly ScopeTraversal[] {
  const [step, ...rest] = steps;
  if (step === undefined) return bodies.flatMap((body) => allIn(body));
  if (step.kind !== "attribute-step") return [];
  const { name } = step;
  return bodies.flatMap((body) => {
    const attribute = body.attributes.get(name);
    const references = attribute === undefined ? [] : expressionReferences(attribute.expression);
    const nested = body.blocks.get(name);
    if (nested === undefined) return references;
    const { nesting } = nested.schema;
    const single = nesting === "single" || nesting === "group";
    const [index, ...further] = single ? [undefined, ...rest] : rest;
    const chosen = index === undefined ? nested.blocks : blocksAt(nested.blocks, index);
    return [
      ...references,
      ...chosen.flatMap((block) => [
        ...headOf(block),
        ...withoutIterator(block, narrowed([block.body], further.filter(isStep))),
      ]),
    ];
  });
}

function isStep(step: TraversalStep | undefined): step is TraversalStep {
  return step !== undefined;
}

/** The blocks that an index can name: one, unless `dynamic` blocks decide where that stands. */
function blocksAt(blocks: readonly BoundBlock[], step: TraversalStep): readonly BoundBlock[] {
  const at = stepKey(step);
  if (blocks.some(({ kind }) => kind === "dynamic")) return blocks;
  if (typeof at === "number") return blocks.slice(at, at + 1);
  return blocks.filter((block) => block.kind === "static" && block.labels[0]?.value === at);
}

function allIn(body: BoundBody): readonly ScopeTraversal[] {
  return [
    ...[...body.attributes.values()].flatMap(({ expression }) => expressionReferences(expression)),
    ...[...body.blocks.values()].flatMap(({ blocks }) =>
      blocks.flatMap((block) => [...headOf(block), ...withoutIterator(block, allIn(block.body))]),
    ),
  ];
}

function headOf(block: BoundBlock): readonly ScopeTraversal[] {
  return block.kind === "dynamic" ? expressionReferences(block.forEach) : [];
}

function withoutIterator(
  block: BoundBlock,
  references: readonly ScopeTraversal[],
): readonly ScopeTraversal[] {
  if (block.kind !== "dynamic") return references;
  return references.filter(({ root }) => root !== block.iterator);
}

function placed(
  module: ModulePath,
  expression: Expression | undefined,
  within?: ResourceConfig,
): readonly PlacedReference[] {
  if (expression === undefined) return [];
  return placedTraversals(module, expressionReferences(expression), within);
}

function placedTraversals(
  module: ModulePath,
  traversals: readonly ScopeTraversal[],
  within?: ResourceConfig,
): readonly PlacedReference[] {
  return traversals.flatMap((traversal): PlacedReference[] => {
    const reference = parseReference(traversal);
    if (reference === undefined) return [];
    const { subject, steps } = reference;
    const ofInstance = subject.kind === "each" || subject.kind === "count";
    return [{ module, subject, steps, ...(ofInstance && within !== undefined && { within }) }];
  });
}

function stepKey(step: TraversalStep): string | number {
  if (step.kind === "attribute-step") return step.name;
  const { key } = step;
  if (key.kind === "string") return key.value;
  return key.kind === "number" ? Number(key.text) : key.kind;
}

function keyOf({ module, subject, steps, within }: PlacedReference): string {
  const inside = within && [within.mode, within.type, within.name];
  return JSON.stringify([module, subject, steps.map(stepKey), inside]);
}
