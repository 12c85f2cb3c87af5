import {
  type ModuleNode,
  parseReference,
  type Reference,
  referenceOwners,
  type ScopeTraversal,
} from "@stackwright/lang";

/** Attributes of a resource that something refers to; `all` where the whole object is. */
export type UsedAttributes = ReadonlySet<string> | "all";

/** A resource or output of a module: its module and its address there. */
export interface Declared {
  /** Names of the calls from the root module. */
  readonly module: readonly string[];
  /** `aws_vpc.main`, `data.aws_ami.x`, `output.y`. */
  readonly address: string;
}

/** The address of a declaration in the configuration: `module.a.aws_vpc.main`. */
export function declaredKey({ module, address }: Declared): string {
  return [...module.map((name) => `module.${name}`), address].join(".");
}

/**
 * The attributes of resources that the given declarations refer to, by {@link declaredKey}: directly, through locals,
 * variables and outputs of modules, and through the resources that these refer to. Found without evaluating anything,
 * so that a reference with a computed index counts as one to the whole resource.
 */
export function contributorsOf(
  root: ModuleNode,
  declared: Iterable<Declared>,
): ReadonlyMap<string, UsedAttributes> {
  const search = new Search(root);
  for (const one of declared) {
    const node = nodeAt(root, one.module);
    if (node !== undefined) search.visit(node, one.address);
  }
  return search.used;
}

function nodeAt(root: ModuleNode, path: readonly string[]): ModuleNode | undefined {
  return path.reduce<ModuleNode | undefined>((node, name) => node?.children.get(name), root);
}

class Search {
  readonly used = new Map<string, Set<string> | "all">();
  readonly #root: ModuleNode;
  readonly #seen = new Set<string>();
  readonly #owners = new Map<ModuleNode, ReadonlyMap<string, readonly ScopeTraversal[]>>();

  constructor(root: ModuleNode) {
    this.#root = root;
  }

  visit(node: ModuleNode, address: string): void {
    const key = declaredKey({ module: node.path, address });
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    for (const traversal of this.#ownersOf(node).get(address) ?? []) {
      const reference = parseReference(traversal);
      if (reference !== undefined) this.#follow(node, reference);
    }
  }

  #follow(node: ModuleNode, { subject, steps }: Reference): void {
    if (subject.kind === "local") this.visit(node, `local.${subject.name}`);
    else if (subject.kind === "variable") {
      const name = node.path.at(-1);
      const parent = nodeAt(this.#root, node.path.slice(0, -1));
      if (name !== undefined && parent !== undefined) this.visit(parent, `module.${name}`);
    } else if (subject.kind === "module") {
      const child = node.children.get(subject.name);
      if (child === undefined) return;
      const outputs = subject.output === undefined ? child.config.outputs.keys() : [subject.output];
      for (const output of outputs) this.visit(child, `output.${output}`);
    } else if (subject.kind === "resource") {
      const { mode, type, name } = subject;
      const address = `${mode === "data" ? "data." : ""}${type}.${name}`;
      const [step] = steps;
      this.#use(
        declaredKey({ module: node.path, address }),
        step?.kind === "attribute-step" ? step.name : undefined,
      );
      this.visit(node, address);
    }
  }

  #use(key: string, attribute: string | undefined): void {
    const known = this.used.get(key);
    if (known === "all") return;
    if (attribute === undefined) this.used.set(key, "all");
    else if (known === undefined) this.used.set(key, new Set([attribute]));
    else known.add(attribute);
  }

  #ownersOf(node: ModuleNode): ReadonlyMap<string, readonly ScopeTraversal[]> {
    const known = this.#owners.get(node);
    if (known !== undefined) return known;
    const owners = new Map<string, ScopeTraversal[]>();
    for (const { address, references } of referenceOwners(node.config)) {
      const list = owners.get(address);
      if (list === undefined) owners.set(address, [...references]);
      else list.push(...references);
    }
    this.#owners.set(node, owners);
    return owners;
  }
}
