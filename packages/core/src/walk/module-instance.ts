import { Value } from "@stackwright/cty";
import {
  type ConditionResult,
  type ContentAttribute,
  createModuleScope,
  type Diagnostic,
  evaluateInput,
  evaluateOutput,
  expandRepetition,
  formatKey,
  hasErrors,
  type InstanceContext,
  type InstanceKey,
  type ModuleCall,
  type ModuleNode,
  type ModuleScope,
  type ModuleValues,
  parseReference,
  type ReferenceSubject,
  readAttributes,
  resourceAddress,
  type ScopeTraversal,
  type SourceRange,
  sourceRange,
} from "@stackwright/lang";
import type { CheckResult } from "../state/check-result.ts";
import type { EvaluationState } from "./evaluation-state.ts";
import { type Keys, keysOf } from "./keys.ts";
import { LazyVariables } from "./lazy-variables.ts";
import type { Target } from "./recorder.ts";
import { NOT_OPEN, ResourceValues } from "./resource-values.ts";
import { VariableValidations } from "./variable-validations.ts";

type ResourceSubject = Extract<ReferenceSubject, { kind: "resource" }>;
type ModuleSubject = Extract<ReferenceSubject, { kind: "module" }>;
type LocalResult = ReturnType<ModuleScope["local"]>;

/** A value that is evaluated once, with what the evaluation read and its diagnostics. */
interface LazyResult {
  readonly value: Value;
  readonly diagnostics: readonly Diagnostic[];
  readonly targets: ReadonlySet<Target>;
  /** What must not be relied on, itself or something that it is made from. */
  readonly blocked: ReadonlySet<string>;
  /** Of an output. */
  readonly conditions?: readonly ConditionResult[];
}

type Evaluated = Omit<LazyResult, "targets" | "blocked">;

/** The instances of a called module. */
export class CallValues {
  readonly config: ModuleCall;
  readonly parent: ModuleInstance;
  readonly instances = new Map<InstanceKey | undefined, ModuleInstance>();
  keys: Keys | undefined;
  /** It is not known which instances there are, which is reported: what reads them is evaluated all the same. */
  isUnknown = false;
  /** What count or for_each read. */
  targets: ReadonlySet<Target> = new Set();

  constructor(parent: ModuleInstance, config: ModuleCall) {
    this.parent = parent;
    this.config = config;
  }

  get address(): string {
    const { address } = this.parent;
    return `${address === "" ? "" : `${address}.`}module.${this.config.name}`;
  }

  /** Of a walk over what is recorded: a module without objects has the instances that the configuration gives it. */
  expandUnlessDone(): void {
    if (this.keys !== undefined) return;
    const expansion = expandRepetition(this.config, this.parent.scope.forInstance({}), []);
    if (expansion.kind !== "unknown" && expansion.kind !== "invalid")
      this.expand(keysOf(expansion));
  }

  /** Fixes the instances. */
  expand(keys: Keys, targets: ReadonlySet<Target> = new Set()): void {
    this.keys = keys;
    this.targets = targets;
    const node = this.parent.node.children.get(this.config.name);
    if (node === undefined) return;
    for (const key of keys.list) {
      const own = node.standInOf?.(this.address + formatKey(key)) ?? node;
      this.instances.set(key, new ModuleInstance(this.parent.world, own, { call: this, key }));
    }
  }
}

/** Where a module instance hangs in the tree. */
interface Place {
  readonly call: CallValues;
  readonly key: InstanceKey | undefined;
}

/**
 * One instance of a module: the values that its expressions see. Variables, locals and outputs are evaluated when they
 * are first asked for; the order of the walk makes sure that what they need is there by then.
 */
export class ModuleInstance implements ModuleValues {
  readonly world: EvaluationState;
  readonly node: ModuleNode;
  readonly place: Place | undefined;
  /** Empty for the root module. */
  readonly address: string;
  readonly scope: ModuleScope;
  readonly resources = new Map<string, ResourceValues>();
  readonly calls = new Map<string, CallValues>();
  readonly folder: string;
  readonly workingDirectory: string | undefined;
  readonly workspace: string;
  readonly applying: boolean;
  readonly variables: ReadonlyMap<string, Value>;
  readonly #variables = new Map<string, LazyResult>();
  readonly #outputs = new Map<string, LazyResult>();
  readonly #locals = new Map<string, Pick<LazyResult, "targets" | "blocked">>();
  readonly #validations: VariableValidations;
  #arguments: ReadonlyMap<string, ContentAttribute> | undefined;

  constructor(world: EvaluationState, node: ModuleNode, place?: Place) {
    this.world = world;
    this.node = node;
    this.place = place;
    this.address = place === undefined ? "" : place.call.address + formatKey(place.key);
    this.folder = node.folder;
    this.workingDirectory = node.files.machine?.workingDirectory;
    this.workspace = world.workspace;
    this.applying = world.applying;
    this.#validations = new VariableValidations(this);
    this.variables = new LazyVariables(node, (name) => this.guardedVariable(name).value);
    this.scope = createModuleScope(node.config, this, world.functionsOf(node));
    for (const [name, config] of node.config.resources) {
      this.resources.set(name, new ResourceValues(this, name, config));
    }
    for (const { data } of node.config.checks.values()) {
      if (data === undefined) continue;
      const name = `data.${data.type}.${data.name}`;
      if (!this.resources.has(name)) this.resources.set(name, new ResourceValues(this, name, data));
    }
    for (const [name, call] of node.config.modules)
      this.calls.set(name, new CallValues(this, call));
  }

  /** Names that the arguments of the call see in the parent. */
  get context(): InstanceContext {
    return this.place?.call.keys?.contextOf(this.place.key) ?? {};
  }

  /** What everything in the module waits for, as it decides how often the module exists. */
  get around(): ReadonlySet<Target> {
    this.#around ??=
      this.place === undefined
        ? new Set()
        : new Set([...this.place.call.parent.around, ...this.place.call.targets]);
    return this.#around;
  }
  #around: ReadonlySet<Target> | undefined;

  /** What everything in the module waits for, as `depends_on` of the calls on the way says. */
  get explicit(): ReadonlySet<Target> {
    if (this.#explicit === undefined) {
      const { place } = this;
      const targets = new Set<Target>(place?.call.parent.explicit);
      for (const traversal of place?.call.config.dependsOn ?? []) {
        for (const target of place?.call.parent.named(traversal) ?? []) targets.add(target);
      }
      this.#explicit = targets;
    }
    return this.#explicit;
  }
  #explicit: ReadonlySet<Target> | undefined;

  /** What a `depends_on` names: a resource, an instance, or everything in a module. */
  named(traversal: ScopeTraversal): readonly Target[] {
    const subject = parseReference(traversal)?.subject;
    if (subject?.kind === "resource") {
      const resource = this.resources.get(resourceAddress(subject));
      if (resource === undefined) return [];
      const slot = subject.key === undefined ? undefined : resource.slots.get(subject.key);
      return [slot ?? resource];
    }
    if (subject?.kind !== "module") return [];
    const call = this.calls.get(subject.name);
    const instances = [...(call?.instances ?? [])].filter(
      ([key]) => subject.key === undefined || subject.key === key,
    );
    return instances.flatMap(([, instance]) => instance.everything());
  }

  /** All resources in the module and in what it calls. */
  everything(): Target[] {
    const inner = [...this.calls.values()].flatMap(({ instances }) => [...instances.values()]);
    return [...this.resources.values(), ...inner.flatMap((instance) => instance.everything())];
  }

  variable(name: string): LazyResult {
    const address = this.addressOf(`var.${name}`);
    return this.#once(this.#variables, name, address, () => this.#evaluateVariable(name));
  }

  /** A variable for what uses it: with what its conditions need, and blocked where they do not hold. */
  guardedVariable(name: string): LazyResult {
    const memo = this.variable(name);
    this.#validations.guard(name);
    return memo;
  }

  /** Where the value of a variable is written: in the call of the module, or with the variable itself. */
  placeOf(name: string): SourceRange | undefined {
    const { expression } = this.#argument(name) ?? {};
    if (expression === undefined) return this.node.config.variables.get(name)?.range;
    return sourceRange(expression.source, expression.start, expression.end);
  }

  #argument(name: string): ContentAttribute | undefined {
    if (this.place === undefined) return undefined;
    this.#arguments ??= readAttributes(this.place.call.config.body, []);
    return this.#arguments.get(name);
  }

  /** What came of the conditions of a variable. */
  validation(name: string): readonly CheckResult[] {
    return this.#validations.results(name);
  }

  /** The address of something that is declared in the module. */
  addressOf(name: string): string {
    return this.address === "" ? name : `${this.address}.${name}`;
  }

  output(name: string): LazyResult {
    const address = this.addressOf(`output.${name}`);
    return this.#once(this.#outputs, name, address, () => this.#evaluateOutput(name));
  }

  resource(subject: ResourceSubject): Value | undefined {
    const resource = this.resources.get(resourceAddress(subject));
    if (resource === undefined) return undefined;
    const { recorder } = this.world;
    if (resource.config?.mode === "ephemeral" && this.world.wants(resource, subject.key))
      return NOT_OPEN;
    const { keys } = resource;
    if (keys === undefined || keys.kind === "single" || subject.key === undefined) {
      const single = keys?.kind === "single" ? resource.slots.get(undefined) : undefined;
      recorder.touch(single ?? resource);
      if (keys?.kind === "single" && subject.key !== undefined) return undefined;
      return resource.whole() ?? this.world.missing(resource.address);
    }
    const slot = resource.slots.get(subject.key);
    // A lookup of a missing key depends on the keys that exist.
    recorder.touch(slot ?? resource);
    return slot === undefined ? undefined : (slot.value ?? this.world.missing(slot.address));
  }

  module(subject: ModuleSubject, output?: string): Value | undefined {
    const call = this.calls.get(subject.name);
    if (call !== undefined && this.world.expandsCalls) call.expandUnlessDone();
    if (call?.keys === undefined) {
      return call && (call.isUnknown ? Value.dynamic : this.world.missing(call.address));
    }
    const of = (instance: ModuleInstance) => instance.#outputsObject(output);
    if (call.keys.kind === "single" || subject.key !== undefined) {
      const instance = call.instances.get(subject.key);
      return instance === undefined ? undefined : of(instance);
    }
    const instances = [...call.instances];
    return call.keys.kind === "count"
      ? Value.tuple(instances.map(([, instance]) => of(instance)))
      : Value.object(instances.map(([key, instance]) => [String(key), of(instance)]));
  }

  local(name: string, evaluateLocal: () => LocalResult): LocalResult {
    const { recorder } = this.world;
    const known = this.#locals.get(name);
    if (known !== undefined) {
      recorder.touchAll(known.targets);
      recorder.block(known.blocked);
      return evaluateLocal();
    }
    const address = this.addressOf(`local.${name}`);
    const { result, targets, blocked, isWaiting } = this.world.evaluateNamed(address, () => {
      const local = evaluateLocal();
      if (hasErrors(local.diagnostics)) recorder.block([address]);
      return local;
    });
    if (isWaiting) return result;
    if (!this.#locals.has(name)) this.world.report(result.diagnostics);
    this.#locals.set(name, { targets, blocked });
    return result;
  }

  #outputsObject(only: string | undefined): Value {
    const names = only === undefined ? [...this.node.config.outputs.keys()] : [only];
    const known = names.filter((name) => this.node.config.outputs.has(name));
    return Value.object(known.map((name) => [name, this.output(name).value]));
  }

  #once(
    memos: Map<string, LazyResult>,
    name: string,
    address: string,
    evaluateIt: () => Evaluated,
  ): LazyResult {
    const { recorder } = this.world;
    const known = memos.get(name);
    if (known !== undefined) {
      recorder.touchAll(known.targets);
      recorder.block(known.blocked);
      return known;
    }
    const { result, targets, blocked, isWaiting } = this.world.evaluateNamed(address, () => {
      const evaluated = evaluateIt();
      if (hasErrors(evaluated.diagnostics)) recorder.block([address]);
      return evaluated;
    });
    const memo = { ...result, targets, blocked };
    // What waits for a call of a provider function is evaluated again when that has been answered.
    if (isWaiting) return memo;
    memos.set(name, memo);
    this.world.report(result.diagnostics);
    return memo;
  }

  #evaluateVariable(name: string): Evaluated {
    if (this.place === undefined) {
      return { value: this.world.rootVariables.get(name) ?? Value.dynamic, diagnostics: [] };
    }
    const config = this.node.config.variables.get(name);
    if (config === undefined) return { value: Value.dynamic, diagnostics: [] };
    const { call } = this.place;
    const argument = this.#argument(name);
    return evaluateInput(config, argument?.expression, call.parent.scope.forInstance(this.context));
  }

  /** What an output is, and what came of its conditions. */
  #evaluateOutput(name: string): Evaluated {
    const config = this.node.config.outputs.get(name);
    if (config === undefined) return { value: Value.dynamic, diagnostics: [] };
    const scope = this.scope.forInstance({});
    const result = evaluateOutput(config, scope, { root: this.place === undefined });
    const address = this.addressOf(`output.${name}`);
    return {
      value: result.value,
      diagnostics: result.diagnostics.map((one) =>
        one.isFailedCondition === true ? { ...one, address: one.address ?? address } : one,
      ),
      conditions: result.preconditions,
    };
  }
}
