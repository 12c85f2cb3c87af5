import type { Value } from "@stackwright/cty";
import {
  bodyReferences,
  type GraphNode,
  type InstanceKey,
  parseReference,
  type ResourceConfig,
} from "@stackwright/lang";
import type { Drift, ResourceChange } from "../plan/change.ts";
import type { ReadPolicy } from "../plan/plan.ts";
import { objectKey, type StateObject } from "../state/state-object.ts";
import type { CallValues, ModuleInstance } from "../walk/module-instance.ts";
import type { Target } from "../walk/recorder.ts";
import type { InstanceSlot, ResourceValues } from "../walk/resource-values.ts";
import { definitionText } from "./definition-text.ts";
import type {
  PlanEffort,
  PlanMemory,
  RememberedExpansion,
  RememberedInstance,
  RememberedPlan,
  RememberedValue,
} from "./plan-memory.ts";

// Invariants:
// - A node that has not changed has the text that it had, and reads only what has not changed. What it gives is then what it
//   gave: a value with what that was made from, or the changes of instances.
// - An instance of a resource is followed more closely: of other resources it reads what its change names as dependencies. So it
//   is used again although other instances of these resources have changed, as long as they are the same instances.
// - What was evaluated anew and gives what it gave has not changed either.
// - Whatever cannot be compared has changed.

type ResourceNode = Extract<GraphNode, { kind: "resource" }>;

interface PlanReuseOptions {
  readonly memory: PlanMemory;
  /** Undefined where nothing may be used again. */
  readonly last: RememberedPlan | undefined;
  readonly policy: ReadPolicy;
  readonly nowMs: number;
  /** As recorded, by address. */
  readonly objects: ReadonlyMap<string, StateObject>;
  readonly createBeforeDestroy: ReadonlyMap<string, string | undefined>;
}

/** What a plan uses of the last one, and what it leaves for the next one. */
export class PlanReuse {
  readonly #given: PlanReuseOptions;
  readonly #last: RememberedPlan | undefined;
  readonly #definitions = new Map<string, string | undefined>();
  readonly #values = new Map<string, ReadonlyMap<string, RememberedValue>>();
  readonly #emptyOutputs = new Map<string, readonly string[]>();
  readonly #expansions = new Map<string, RememberedExpansion>();
  #instances = 0;
  /** Nodes that give something else than they gave. */
  readonly #changed = new Set<GraphNode>();
  /** Resources that have other instances than they had. */
  readonly #rekeyed = new Set<GraphNode>();
  /** Addresses of instances that changed. */
  readonly #changedInstances = new Set<string>();
  /** Addresses of resources of which something changed. */
  readonly #changedResources = new Set<string>();
  readonly #stable = new Map<GraphNode, boolean>();
  /** Versions of providers that were not started, as all of theirs was used again. */
  readonly usedProviders = new Set<string>();
  /** Whether what is recorded is what it was. */
  readonly #hasObjects: boolean;
  #planned = 0;

  constructor(given: PlanReuseOptions) {
    this.#given = given;
    this.#last = given.last;
    this.#hasObjects = given.last?.objects === given.objects;
  }

  /** Whether a variable, a local or an output need not be evaluated, as it is what it was. */
  isSameValue(node: GraphNode): boolean {
    const isStable = this.#isStable(node, false);
    const known = this.#last?.values.get(node.id);
    // The values of the root module are given.
    if (isGiven(node) || known === undefined || !isStable) return false;
    this.#values.set(node.id, known);
    return true;
  }

  /** Addresses of null outputs that the last plan found for an output that is what it was. */
  sameEmptyOutputs(node: GraphNode): readonly string[] {
    const known = this.#last?.emptyOutputs.get(node.id) ?? [];
    this.#emptyOutputs.set(node.id, known);
    return known;
  }

  keepEmptyOutputs(node: GraphNode, addresses: readonly string[]): void {
    this.#emptyOutputs.set(node.id, addresses);
  }

  /** Keeps what was evaluated, in all instances of the module. */
  keepValues(
    node: GraphNode,
    modules: readonly ModuleInstance[],
    read: (module: ModuleInstance) => Value,
  ): void {
    const before = this.#last?.values.get(node.id);
    const values = new Map<string, RememberedValue>();
    let isSame = before?.size === modules.length;
    for (const module of modules) {
      const { result: value, targets } = module.world.recorder.apart(() => read(module));
      const one = { value, targets: addressesOf(targets) };
      const known = before?.get(module.address);
      isSame &&= known?.targets === one.targets && known.value.rawEquals(value);
      values.set(module.address, one);
    }
    this.#values.set(node.id, values);
    if (!isSame) this.#changed.add(node);
  }

  /** Of a node that only stands for others: everything in a module, or its outputs as a value. */
  keepGroup(node: GraphNode): void {
    const parts =
      node.kind === "module-outputs"
        ? [...node.dependencies.keys()]
            .flatMap((end) => [...end.dependencies.keys()])
            .filter(({ kind }) => kind === "output" || kind === "module")
        : [...node.dependencies.keys()];
    const isSame = this.#hasDefinition(node) && !parts.some((part) => this.#changed.has(part));
    if (!isSame) this.#changed.add(node);
  }

  /** The configuration of a provider, which is evaluated when it is asked for. */
  keepProvider(node: GraphNode): void {
    if (!this.#isStable(node, false)) this.#changed.add(node);
  }

  /** The instances of a module. */
  keepCall(node: GraphNode, call: CallValues): void {
    const each = new Map(
      (call.keys?.list ?? []).map((key) => [key, call.keys?.contextOf(key).each?.value]),
    );
    const around = addressesOf(call.targets);
    const now: RememberedExpansion = {
      kind: call.keys?.kind,
      keys: call.keys?.list ?? [],
      each,
      around,
      explicit: "",
      removed: "",
      instances: [],
      createBeforeDestroy: undefined,
    };
    const before = this.#last?.expansions.get(call.address);
    const isSame =
      before !== undefined &&
      hasSameKeys(before, now) &&
      before.around === around &&
      now.keys.every((key) => isSameValue(before.each.get(key), each.get(key)));
    this.#expansions.set(call.address, now);
    if (!isSame) this.#changed.add(node);
  }

  /** The instances of a resource that were planned before. Answers for each of them whether it is used again. */
  resource(
    node: ResourceNode,
    resource: ResourceValues,
    targets: { readonly around: ReadonlySet<Target>; readonly explicit: ReadonlySet<Target> },
  ): ResourceReuse {
    const { path } = node.module;
    const { createBeforeDestroy } = this.#given;
    const local = `${node.resource.type}.${node.resource.name}`;
    const address = [...path.map((name) => `module.${name}`), local].join(".");
    const keys = resource.keys?.list ?? [];
    const kind = resource.keys?.kind;
    const around = addressesOf(targets.around);
    const explicit = addressesOf(targets.explicit);
    const isFirst = createBeforeDestroy.has(address)
      ? `for ${createBeforeDestroy.get(address) ?? ""}`
      : undefined;
    const before = this.#last?.expansions.get(resource.address);
    const hasKeys = before !== undefined && hasSameKeys(before, { kind, keys });
    const isUsable =
      this.#isStable(node, true) &&
      before !== undefined &&
      before.around === around &&
      before.explicit === explicit &&
      before.createBeforeDestroy === isFirst;
    let known: ReadonlyMap<InstanceKey | undefined, RememberedInstance> | undefined;
    const knownAt = (at: number): RememberedInstance | undefined => {
      if (before === undefined || hasKeys) return before?.instances[at];
      known ??= new Map(before.instances.map((one, position) => [before.keys[position], one]));
      return known.get(keys[at]);
    };
    const instances: RememberedInstance[] = [];
    this.#instances += keys.length;
    return {
      isUsable,
      hasSameObjects: hasKeys && before.removed === "" && this.#hasObjects,
      find: (slot, at) => {
        const found = isUsable ? knownAt(at) : undefined;
        if (found === undefined || !this.#isUsable(found, slot)) return undefined;
        instances[at] = found;
        return found;
      },
      keep: (slot, at, change) => {
        instances[at] = this.#instanceOf(slot, change);
        this.#planned += 1;
        if (isSamePlanned(knownAt(at), instances[at])) return;
        this.#changed.add(node);
        this.#changedInstances.add(slot.address);
        this.#changedResources.add(resource.address);
      },
      end: (ended) => {
        const removed = ended
          .map(({ address: gone, action, record }) => `${gone} ${action} ${record}`)
          .toSorted()
          .join("\n");
        const rest = { around, explicit, removed, createBeforeDestroy: isFirst };
        this.#expansions.set(resource.address, { kind, keys, each: NONE, instances, ...rest });
        if (hasKeys && before.removed === removed) return;
        this.#changed.add(node);
        this.#rekeyed.add(node);
        this.#changedResources.add(resource.address);
      },
    };
  }

  #instanceOf(slot: InstanceSlot, change: ResourceChange): RememberedInstance {
    return {
      change,
      value: slot.value,
      object: this.#given.objects.get(slot.address),
      each: slot.context.each?.value,
      askedAtMs: this.#given.nowMs,
      isReported: false,
    };
  }

  #isUsable(found: RememberedInstance, slot: InstanceSlot): boolean {
    const { change, object, each, askedAtMs, isReported } = found;
    if (isReported) return false;
    if (!this.#hasObjects && !isSameObject(object, this.#given.objects.get(slot.address))) {
      return false;
    }
    if (change.mode === "data" && this.#last?.hasInputs === true) return false;
    // Data sources are read whatever the policy says: it is about recorded objects.
    const isRead = object !== undefined && this.#given.policy.kind !== "never";
    const isFresh = this.#given.nowMs - askedAtMs < this.#given.memory.readAgeMs;
    if ((change.mode === "data" || isRead) && !isFresh) return false;
    if (each !== undefined && !isSameValue(each, slot.context.each?.value)) return false;
    if (this.#changedResources.size === 0) return true;
    return change.dependencies.every(({ address, scope }) =>
      scope === "resource"
        ? !this.#changedResources.has(address)
        : !this.#changedInstances.has(address),
    );
  }

  /**
   * Whether a node is written as it was, and reads what has not changed.
   *
   * @param closely for an instance, whose dependencies on others are compared one by one
   */
  #isStable(node: GraphNode, closely: boolean): boolean {
    const known = this.#stable.get(node);
    if (known !== undefined) return known;
    const isStable = this.#findStable(node, closely);
    this.#stable.set(node, isStable);
    return isStable;
  }

  #findStable(node: GraphNode, closely: boolean): boolean {
    if (!this.#hasDefinition(node)) return false;
    let follows = closely;
    let reads: ReadonlySet<string> | undefined;
    if (node.kind === "resource") {
      const { lifecycle } = node.resource;
      // What came of conditions belongs to the plan, and is found again.
      if (lifecycle.preconditions.length + lifecycle.postconditions.length > 0) return false;
      if (node.check !== undefined) return false;
      // What they name is not among the dependencies.
      if (lifecycle.replaceTriggeredBy.length > 0) follows = false;
      // A read waits for changes of all instances of what it refers to.
      if (node.resource.mode === "data") follows = false;
    }
    for (const dependency of node.dependencies.keys()) {
      if (!this.#changed.has(dependency)) continue;
      const { kind } = dependency;
      if (follows && kind === "resource" && !this.#rekeyed.has(dependency)) continue;
      // What it waits for is among the dependencies of each instance.
      if (follows && kind === "module-end") continue;
      // What only says how often it exists is compared as instances and their values.
      if (node.kind === "resource" && REPEATING.has(kind)) {
        reads ??= namesReadBy(node.resource);
        if (!reads.has(nameOf(dependency))) continue;
      }
      return false;
    }
    return true;
  }

  #hasDefinition(node: GraphNode): boolean {
    let text = this.#definitions.get(node.id);
    if (text === undefined && !this.#definitions.has(node.id)) {
      text = definitionText(node);
      this.#definitions.set(node.id, text);
    }
    return text !== undefined && this.#last?.definitions.get(node.id) === text;
  }

  /** How much of the plan was made anew. */
  get effort(): PlanEffort {
    return { instances: this.#instances, planned: this.#planned };
  }

  /** Everything for the next plan, as far as the next one can use it. */
  remember(
    rest: Pick<RememberedPlan, "catalog" | "frame" | "identities" | "hasInputs">,
    {
      drift,
      reported,
    }: { readonly drift: readonly Drift[]; readonly reported: ReadonlySet<string> },
  ): RememberedPlan {
    if (drift.length + reported.size > 0) this.#note(drift, reported);
    return {
      ...rest,
      definitions: this.#definitions,
      values: this.#values,
      emptyOutputs: this.#emptyOutputs,
      expansions: this.#expansions,
      objects: this.#given.objects,
    };
  }

  /** Adds to instances what was found, and that something was reported. */
  #note(drift: readonly Drift[], reported: ReadonlySet<string>): void {
    const drifts = new Map(drift.map((one) => [objectKey(one), one]));
    for (const [address, expansion] of this.#expansions) {
      const instances = expansion.instances.map((one) => {
        const found = drifts.get(one.change.address);
        const isReported = one.isReported || reported.has(one.change.address);
        if (found === one.drift && isReported === one.isReported) return one;
        return { ...one, isReported, ...(found && { drift: found }) };
      });
      this.#expansions.set(address, { ...expansion, instances });
    }
  }
}

/** The instances of one resource, as far as they were planned before. */
export interface ResourceReuse {
  /** Whether any instance may be used again. */
  readonly isUsable: boolean;
  /** Whether it has the instances that it had, none of its objects ended, and the same is recorded. */
  readonly hasSameObjects: boolean;
  /** What was planned for an instance, if that is planned again. */
  find(slot: InstanceSlot, at: number): RememberedInstance | undefined;
  keep(slot: InstanceSlot, at: number, change: ResourceChange): void;
  /** Called when all instances are planned, with what ends. */
  end(ended: readonly ResourceChange[]): void;
}

/** Kinds of nodes that `count` and `for_each` refer to, and that are values alone. */
const REPEATING: ReadonlySet<GraphNode["kind"]> = new Set([
  "variable",
  "local",
  "output",
  "module-outputs",
]);
const REPETITION = new Set(["count", "for_each", "enabled"]);

/** What a resource refers to outside of `count` and `for_each`. */
function namesReadBy({ body }: ResourceConfig): ReadonlySet<string> {
  const names = new Set<string>();
  for (const reference of bodyReferences(body, REPETITION)) {
    const subject = parseReference(reference)?.subject;
    if (subject?.kind === "variable") names.add(`var.${subject.name}`);
    else if (subject?.kind === "local") names.add(`local.${subject.name}`);
    else if (subject?.kind === "module") names.add(`module.${subject.name}`);
  }
  return names;
}

/** How something in the same module, or an output of a module that it calls, is referred to. */
function nameOf(node: GraphNode): string {
  if (node.kind === "variable") return `var.${node.variable.name}`;
  if (node.kind === "local") return `local.${node.local.name}`;
  const path = node.kind === "module-outputs" ? node.child.path : node.module.path;
  return `module.${path.at(-1) ?? ""}`;
}

/** Whether the value of a node comes from outside. */
function isGiven(node: GraphNode): boolean {
  return node.kind === "variable" && node.module.path.length === 0;
}

const NONE: RememberedExpansion["each"] = new Map();

/** Whether an instance that was planned anew is to others what it was. */
function isSamePlanned(
  before: RememberedInstance | undefined,
  { change, value }: RememberedInstance,
): boolean {
  return (
    before !== undefined &&
    before.change.action === change.action &&
    isSameValue(before.value, value) &&
    isSameValue(before.change.before, change.before) &&
    isSameValue(before.change.after, change.after)
  );
}

function hasSameKeys(
  a: Pick<RememberedExpansion, "kind" | "keys">,
  b: Pick<RememberedExpansion, "kind" | "keys">,
): boolean {
  return (
    a.kind === b.kind &&
    a.keys.length === b.keys.length &&
    a.keys.every((key, at) => key === b.keys[at])
  );
}

function isSameValue(a: Value | undefined, b: Value | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.rawEquals(b));
}

/** Whether a recorded object is the one that it was: every run that writes one has an epoch of its own. */
function isSameObject(a: StateObject | undefined, b: StateObject | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  return (
    a.epoch === b.epoch &&
    a.revision === b.revision &&
    a.observedAtMs === b.observedAtMs &&
    a.phase === b.phase &&
    a.value?.json === b.value?.json
  );
}

function addressesOf(targets: Iterable<Target>): string {
  return [...targets].map(({ kind, address }) => `${kind} ${address}`).join("\n");
}
