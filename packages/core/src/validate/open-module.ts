import { Mark, Type, Value } from "@stackwright/cty";
import {
  createModuleScope,
  type Diagnostic,
  evaluateInput,
  evaluateOutput,
  type FunctionTable,
  type InstanceContext,
  type ModuleCall,
  type ModuleNode,
  type ModuleScope,
  type ModuleValues,
  type ReferenceSubject,
  type Repetition,
  type ResourceConfig,
  readAttributes,
  resourceAddress,
} from "@stackwright/lang";
import { LazyVariables } from "../walk/lazy-variables.ts";

type ResourceSubject = Extract<ReferenceSubject, { kind: "resource" }>;
type ModuleSubject = Extract<ReferenceSubject, { kind: "module" }>;

/** Something that is evaluated, with what is wrong with it. */
interface Evaluated {
  readonly value: Value;
  readonly diagnostics: readonly Diagnostic[];
}

/** What all modules of a check share. */
interface OpenTree {
  /** The type of the objects of a resource; any type where no schema declares it. */
  typeOf(module: ModuleNode, config: ResourceConfig): Type;
  functionsOf(module: ModuleNode): FunctionTable;
}

/**
 * A module of which only the configuration is known: variables and resources are unknown values of their types,
 * and each module and resource represents all its instances.
 */
export class OpenModule implements ModuleValues {
  readonly node: ModuleNode;
  readonly folder: string;
  readonly workingDirectory: string | undefined;
  readonly workspace = "default";
  readonly variables: ReadonlyMap<string, Value>;
  readonly scope: ModuleScope;
  readonly children = new Map<string, OpenModule>();
  readonly #tree: OpenTree;
  readonly #call: { readonly parent: OpenModule; readonly config: ModuleCall } | undefined;
  readonly #variables = new Map<string, Evaluated>();
  readonly #outputs = new Map<string, Evaluated>();

  constructor(
    node: ModuleNode,
    tree: OpenTree,
    call?: { readonly parent: OpenModule; readonly config: ModuleCall },
  ) {
    this.node = node;
    this.folder = node.folder;
    this.workingDirectory = node.files.machine?.workingDirectory;
    this.#tree = tree;
    this.#call = call;
    this.variables = new LazyVariables(node, (name) => this.variable(name).value);
    const functions = tree.functionsOf(node);
    this.scope = createModuleScope(node.config, this, functions);
    for (const [name, config] of node.config.modules) {
      const child = node.children.get(name);
      if (child === undefined) continue;
      this.children.set(name, new OpenModule(child, tree, { parent: this, config }));
    }
  }

  /** The module that is called along the path. */
  at(path: readonly string[]): OpenModule | undefined {
    return path.reduce<OpenModule | undefined>((at, name) => at?.children.get(name), this);
  }

  variable(name: string): Evaluated {
    return this.#once(this.#variables, name, () => this.#evaluateVariable(name));
  }

  /** What the validations of a variable see: its argument as far as it is known, which they are to decide about. */
  validationScope(name: string): ModuleScope {
    const valueOf = (other: string) =>
      other === name ? this.#argument(name).value : this.variable(other).value;
    const values: ModuleValues = {
      variables: new LazyVariables(this.node, valueOf),
      resource: (subject) => this.resource(subject),
      module: (subject, output) => this.module(subject, output),
      folder: this.folder,
      workingDirectory: this.workingDirectory,
      workspace: this.workspace,
    };
    return createModuleScope(this.node.config, values, this.scope.functions);
  }

  output(name: string): Evaluated {
    return this.#once(this.#outputs, name, () => {
      const config = this.node.config.outputs.get(name);
      if (config === undefined) return UNKNOWN;
      return evaluateOutput(config, this.scope.forInstance({}), { root: this.#call === undefined });
    });
  }

  resource(subject: ResourceSubject): Value | undefined {
    const config = this.#config(resourceAddress(subject));
    if (config === undefined) return undefined;
    const type = this.#tree.typeOf(this.node, config);
    const value = repeated(config, type, subject.key !== undefined);
    return config.mode === "ephemeral" ? value.mark(Mark.ephemeral) : value;
  }

  module(subject: ModuleSubject, output?: string): Value | undefined {
    const child = this.children.get(subject.name);
    const config = this.node.config.modules.get(subject.name);
    if (child === undefined || config === undefined) return undefined;
    const { outputs } = child.node.config;
    const names = output === undefined ? [...outputs.keys()] : [output];
    const known = names.filter((name) => outputs.has(name));
    const value = Value.object(known.map((name) => [name, child.output(name).value]));
    const each = config.count ?? config.forEach;
    return each === undefined || subject.key !== undefined
      ? value
      : repeated(config, value.type, false);
  }

  #config(name: string): ResourceConfig | undefined {
    const declared = this.node.config.resources.get(name);
    if (declared !== undefined) return declared;
    for (const { data } of this.node.config.checks.values()) {
      if (data !== undefined && `data.${data.type}.${data.name}` === name) return data;
    }
    return undefined;
  }

  /**
   * Unknown also where the caller's value is known: what is checked holds for all values, so one that leaves a resource
   * out by its `count` does not have to satisfy the expressions in it.
   */
  #evaluateVariable(name: string): Evaluated {
    const config = this.node.config.variables.get(name);
    if (config === undefined) return UNKNOWN;
    const { value, diagnostics } = this.#argument(name);
    return { value: Value.unknown(config.constraint.type).mark(...value.marks), diagnostics };
  }

  #argument(name: string): Evaluated {
    const config = this.node.config.variables.get(name);
    if (config === undefined) return UNKNOWN;
    if (this.#call === undefined) {
      const { constraint, sensitive, ephemeral } = config;
      const marks = [
        ...(sensitive ? [Mark.sensitive] : []),
        ...(ephemeral ? [Mark.ephemeral] : []),
      ];
      return { value: Value.unknown(constraint.type).mark(...marks), diagnostics: [] };
    }
    const { parent, config: call } = this.#call;
    const argument = readAttributes(call.body, []).get(name);
    return evaluateInput(config, argument?.expression, parent.scope.forInstance(anyInstance(call)));
  }

  /** What waits for the answer of a provider function is no last word. */
  #once(memos: Map<string, Evaluated>, name: string, evaluate: () => Evaluated): Evaluated {
    const known = memos.get(name);
    if (known !== undefined) return known;
    const { functions } = this.scope;
    const pending = functions.pending?.() ?? 0;
    const evaluated = evaluate();
    if ((functions.pending?.() ?? 0) === pending) memos.set(name, evaluated);
    return evaluated;
  }
}

const UNKNOWN: Evaluated = { value: Value.dynamic, diagnostics: [] };

/** What expressions see that are about any instance of something. */
export function anyInstance({ count, forEach }: Repetition): InstanceContext {
  return {
    ...(count !== undefined && { countIndex: Value.unknown(Type.number) }),
    ...(forEach !== undefined && {
      each: { key: Value.unknown(Type.string), value: Value.dynamic },
    }),
  };
}

/** One unknown instance, or all of them. */
function repeated({ count, forEach }: Repetition, type: Type, one: boolean): Value {
  if (one || (count === undefined && forEach === undefined)) return Value.unknown(type);
  // What is of any type may be of another in each instance.
  if (type.hasDynamic) return Value.dynamic;
  return Value.unknown(count === undefined ? Type.map(type) : Type.list(type));
}
