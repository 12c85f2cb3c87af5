import type { ResourceChange } from "../plan/change.ts";
import { resourceOf } from "../state/check-state.ts";
import { type Dependency, objectKey, type StateObject } from "../state/state-object.ts";
import { nameOf, neededName, objectsNames } from "./dependency-names.ts";

/** One half of a change: what produces the new object, or what ends the old one. */
export interface Step {
  readonly kind: "make" | "remove";
  readonly change: ResourceChange;
  /** Of a removal: whether it happens while its dependents still refer to the object. */
  readonly early?: boolean;
}

/** What conditions have to do with the order. */
interface StepConditions {
  /** Addresses of objects whose conditions are still to be decided, so that they are steps even where nothing changes. */
  readonly open: ReadonlySet<string>;
  /** Addresses of data sources of checks, which nothing else uses. */
  readonly dataOfChecks: ReadonlySet<string>;
}

const NO_CONDITIONS: StepConditions = { open: new Set(), dataOfChecks: new Set() };

/** The steps of a plan, and which waits for which. Vertices behind the steps only join edges. */
export interface StepGraph {
  readonly steps: readonly Step[];
  readonly size: number;
  readonly next: readonly (readonly number[])[];
}

/** Whether the step that ends the old object comes before the one that makes the new one. */
function destroysFirst({ action, order }: ResourceChange): boolean {
  return action === "replace" && order !== "create-first";
}

/** Whether the old object is there until the new one is made. */
function isLeft(change: ResourceChange | undefined): boolean {
  return change?.action === "replace" && change.order === "create-first";
}

/** Whether a change ends an object. One that is gone already is only taken out of the record. */
function removes({ action, after, record }: ResourceChange): boolean {
  if (action === "replace" || action === "delete" || action === "forget") return true;
  return action === "no-op" && record && after === undefined;
}

/** Whether a change makes something that others wait for. */
function makes({ action, after, record, importing }: ResourceChange, open: boolean): boolean {
  if (action === "no-op") return (record || importing !== undefined || open) && after !== undefined;
  return action !== "delete" && action !== "forget";
}

/**
 * Orders the steps of a plan by the six rules of the design page ("Order"), which see for why there is no cycle. `objects`
 * is the state that the plan was made from: its dependencies are the old ones.
 *
 * Cost. A dependency on all instances of a resource goes through a vertex for that resource, so that n dependents of n
 * instances are 2n edges. Of objects that do not change those have a vertex that a step depends on, directly or through others.
 */
export function orderSteps(
  changes: readonly ResourceChange[],
  objects: ReadonlyMap<string, StateObject>,
  conditions: StepConditions = NO_CONDITIONS,
): StepGraph {
  const order = new StepOrder(changes, objects, conditions);
  const graph = order.graph();
  const reads = order.lateReads();
  if (reads === undefined) return graph;
  const ordered = new StepOrder(changes, objects, conditions, reads).graph();
  return isAcyclic(ordered) ? ordered : graph;
}

/** Reads of data sources that are left to the apply, and the removals among what they depend on. */
interface LateReads {
  /** What the reads depend on, directly or through others: the dependencies of each, by {@link nameOf}. */
  readonly needs: ReadonlyMap<string, readonly Dependency[]>;
  /** The removals by {@link objectsNames}. */
  readonly removals: ReadonlyMap<string, readonly number[]>;
  /** Those that the reads come after. */
  readonly awaited: ReadonlySet<number>;
  /** Those that come after the reads: of objects whose replacements are created first. */
  readonly deferred: ReadonlySet<number>;
  /** Removals that do not wait for the makes behind the reads (rule 4), as these come after them. */
  readonly released: ReadonlySet<number>;
  /** Vertices that come after a read. */
  readonly behind: ReadonlySet<number>;
}

const NO_READS: LateReads = {
  needs: new Map(),
  removals: new Map(),
  awaited: new Set(),
  deferred: new Set(),
  released: new Set(),
  behind: new Set(),
};

function isAcyclic({ size, next }: StepGraph): boolean {
  const waits = Array.from({ length: size }, () => 0);
  for (const followers of next) {
    for (const follower of followers) waits[follower] = (waits[follower] ?? 0) + 1;
  }
  const order = waits.flatMap((count, vertex) => (count === 0 ? [vertex] : []));
  // Grows while it is walked.
  for (const vertex of order) {
    for (const follower of next[vertex] ?? []) {
      const count = (waits[follower] ?? 0) - 1;
      waits[follower] = count;
      if (count === 0) order.push(follower);
    }
  }
  return order.length === size;
}

class StepOrder {
  readonly #steps: Step[] = [];
  readonly #next: number[][] = [];
  readonly #makes = new Map<string, number>();
  readonly #removes = new Map<string, number>();
  readonly #makesOf = new Map<string, number[]>();
  /** Not among the makes, as no other step is ordered by them. */
  readonly #readsOfChecks: number[] = [];
  readonly #removesOf = new Map<string, number[]>();
  readonly #groups = new Map<string, number>();
  /** Objects that have no step, by address and by resource: what depends on them comes after what they depend on. */
  readonly #unchanged = new Map<string, ResourceChange>();
  readonly #unchangedOf = new Map<string, string[]>();
  /** Vertices of such objects, whose edges are still to be made. */
  readonly #passing: { readonly vertex: number; readonly change: ResourceChange }[] = [];
  readonly #changes: readonly ResourceChange[];
  readonly #objects: ReadonlyMap<string, StateObject>;
  readonly #conditions: StepConditions;
  readonly #aliases = new Map<string, string>();
  /** Objects that were instances of a resource when others came to depend on it, and have moved away since. */
  readonly #movedFrom = new Map<string, Set<string>>();
  readonly #reads: LateReads;
  #early: ReadonlySet<number> = new Set();

  constructor(
    changes: readonly ResourceChange[],
    objects: ReadonlyMap<string, StateObject>,
    conditions: StepConditions,
    reads: LateReads = NO_READS,
  ) {
    this.#changes = changes;
    this.#objects = objects;
    this.#conditions = conditions;
    this.#reads = reads;
    for (const { address, aliases } of objects.values()) {
      for (const alias of aliases) {
        this.#aliases.set(alias, address);
        const former = resourceOf(alias);
        if (former === resourceOf(address)) continue;
        const moved = this.#movedFrom.get(former);
        if (moved === undefined) this.#movedFrom.set(former, new Set([address]));
        else moved.add(address);
      }
    }
  }

  graph(): StepGraph {
    for (const change of this.#changes) this.#declare(change);
    this.#early = this.#findEarly();
    for (const at of [...this.#early, ...this.#reads.released, ...this.#usedByChecks()]) {
      const step = this.#steps[at];
      if (step !== undefined) this.#steps[at] = { ...step, early: true };
    }
    for (const change of this.#changes) this.#connect(change);
    // Grows while it is walked.
    for (const { vertex, change } of this.#passing) {
      for (const dependency of change.dependencies) this.#afterMakes(vertex, dependency);
    }
    this.#connectReads();
    this.#connectChecks();
    return { steps: this.#steps, size: this.#next.length, next: this.#next };
  }

  /**
   * What is read during the apply while something is removed that it depends on, directly or through others; undefined where there
   * is none. Of a resource all instances count, as the read may say something of all.
   */
  lateReads(): LateReads | undefined {
    const reads = this.#changes.filter((change) => this.#isOrderedRead(change));
    if (reads.length === 0) return undefined;
    const needs = this.#needsOf(reads);
    const needed = new Set(
      Array.from(needs, ([from, all]) => all.map((one) => neededName(from, one))).flat(),
    );
    const byName = new Map<string, number[]>();
    for (const at of this.#removes.values()) {
      if (!this.#isNoticed(at)) continue;
      for (const name of objectsNames(this.#steps[at]?.change.address ?? "")) {
        if (!needed.has(name)) continue;
        const list = byName.get(name);
        if (list === undefined) byName.set(name, [at]);
        else list.push(at);
      }
    }
    const removals = [...new Set([...byName.values()].flat())];
    if (removals.length === 0) return undefined;
    const behind = new Set(reads.flatMap(({ address }) => this.#makes.get(address) ?? []));
    // Grows while it is walked.
    for (const vertex of behind) for (const next of this.#next[vertex] ?? []) behind.add(next);
    const noticed = new Set(removals);
    const last = this.#withNeeded(
      [...this.#removes.values()].filter((at) => this.#isLast(at, { noticed, behind })),
    );
    const awaited = removals.filter((at) => !last.has(at));
    return {
      needs,
      removals: byName,
      awaited: new Set(awaited),
      deferred: new Set(removals.filter((at) => last.has(at))),
      released: this.#withDependents(
        awaited.filter((at) => behind.has(at)),
        this.#removedDependents(),
      ),
      behind,
    };
  }

  #isReadOfCheck({ action, address }: ResourceChange): boolean {
    return action === "read" && this.#conditions.dataOfChecks.has(address);
  }

  /** Read before or after the removals among what it depends on. */
  #isOrderedRead(change: ResourceChange): boolean {
    return change.action === "read" && !this.#isReadOfCheck(change);
  }

  /** Whether a removal takes away something that a read may have seen. */
  #isNoticed(removal: number): boolean {
    const change = this.#steps[removal]?.change;
    return change?.action === "delete" || isLeft(change);
  }

  /** Whether a removal comes after the reads: what is created first is removed last. */
  #isLast(
    removal: number,
    {
      noticed,
      behind,
    }: { readonly noticed: ReadonlySet<number>; readonly behind: ReadonlySet<number> },
  ): boolean {
    const change = this.#steps[removal]?.change;
    if (change?.action === "delete") {
      return (
        change.deposed !== "" || this.#objects.get(objectKey(change))?.createBeforeDestroy === true
      );
    }
    if (change === undefined || !isLeft(change)) return false;
    const make = this.#makes.get(change.address);
    return noticed.has(removal) || (make !== undefined && behind.has(make));
  }

  /** The dependencies of changes, and of all that is reached by them. */
  #needsOf(changes: readonly ResourceChange[]): ReadonlyMap<string, readonly Dependency[]> {
    const byName = Map.groupBy(
      this.#changes.filter(({ deposed }) => deposed === ""),
      ({ address }) => `${resourceOf(address)}[]`,
    );
    for (const change of this.#changes) {
      if (change.deposed === "") byName.set(change.address, [change]);
    }
    const needs = new Map<string, readonly Dependency[]>();
    const add = (name: string, from: readonly ResourceChange[]): void => {
      needs.set(
        name,
        from.flatMap(({ dependencies }) => dependencies.filter(({ kind }) => kind !== "provider")),
      );
    };
    for (const change of changes) add(change.address, [change]);
    // Grows while it is walked.
    for (const [, dependencies] of needs) {
      for (const dependency of dependencies) {
        const name = nameOf(dependency);
        if (!needs.has(name)) add(name, byName.get(name) ?? []);
      }
    }
    return needs;
  }

  /**
   * Rule 5. For each thing that reads depend on, one vertex joins the removals that a read waits for, and one those that wait for
   * it, so that the edges are as many as the dependencies.
   */
  #connectReads(): void {
    const { needs, removals, awaited, deferred } = this.#reads;
    if (awaited.size + deferred.size === 0) return;
    const joined = (name: string): readonly [after: number, before: number] => [
      this.#group(`removed before ${name}`, () => {}),
      this.#group(`removed after ${name}`, () => {}),
    ];
    const removalsOf = (needed: string): readonly [after: number, before: number] => {
      const all = removals.get(needed) ?? [];
      return [
        this.#group(`removals of ${needed} before reads`, (group) => {
          for (const one of all) if (awaited.has(one)) this.#edge(one, group);
        }),
        this.#group(`removals of ${needed} after reads`, (group) => {
          for (const one of all) if (deferred.has(one)) this.#edge(group, one);
        }),
      ];
    };
    for (const [name, dependencies] of needs) {
      const [after, before] = joined(name);
      for (const dependency of dependencies) {
        const needed = removalsOf(neededName(name, dependency));
        for (const [former, later] of [joined(nameOf(dependency)), needed]) {
          this.#edge(former, after);
          this.#edge(before, later);
        }
      }
    }
    for (const change of this.#changes) {
      const { address } = change;
      const read = this.#isOrderedRead(change) ? this.#makes.get(address) : undefined;
      if (read === undefined) continue;
      const [after, before] = joined(address);
      this.#edge(after, read);
      this.#edge(read, before);
    }
  }

  /** Removals of what was read for checks the last time: that is read again after them. */
  #usedByChecks(): readonly number[] {
    return this.#readsOfChecks.flatMap((at) => {
      const { change } = this.#steps[at] as Step;
      const { dependencies = [] } = this.#objects.get(objectKey(change)) ?? {};
      return dependencies.flatMap((dependency) => this.#removalsOf(dependency));
    });
  }

  /**
   * What is read for a check alone comes after all other steps, which wait for none of it: the check is about what they did. So
   * dependencies on it order nothing, such as those of what depends on its module, and it keeps no removal of what it referred to waiting.
   */
  #connectChecks(): void {
    const last = new Set(this.#readsOfChecks);
    if (last.size === 0) return;
    const others = this.#group("before what is read for checks", () => {});
    for (const step of this.#steps.keys()) {
      if (last.has(step)) this.#edge(others, step);
      else this.#edge(step, others);
    }
  }

  #declare(change: ResourceChange): void {
    if (this.#isReadOfCheck(change)) {
      this.#readsOfChecks.push(this.#steps.push({ kind: "make", change }) - 1);
      this.#next.push([]);
      return;
    }
    const resource = resourceOf(change.address);
    const add = (
      kind: Step["kind"],
      byAddress: Map<string, number>,
      byResource: Map<string, number[]>,
    ) => {
      const vertex = this.#steps.push({ kind, change }) - 1;
      this.#next.push([]);
      byAddress.set(kind === "make" ? change.address : objectKey(change), vertex);
      const list = byResource.get(resource);
      if (list === undefined) byResource.set(resource, [vertex]);
      else list.push(vertex);
    };
    if (this.#makesSomething(change)) add("make", this.#makes, this.#makesOf);
    else if (change.action === "no-op" && change.deposed === "") this.#pass(change, resource);
    if (removes(change)) add("remove", this.#removes, this.#removesOf);
  }

  #pass(change: ResourceChange, resource: string): void {
    this.#unchanged.set(change.address, change);
    const list = this.#unchangedOf.get(resource);
    if (list === undefined) this.#unchangedOf.set(resource, [change.address]);
    else list.push(change.address);
  }

  #makesSomething(change: ResourceChange): boolean {
    return makes(change, change.deposed === "" && this.#conditions.open.has(change.address));
  }

  #edge(from: number | undefined, to: number | undefined): void {
    if (from !== undefined && to !== undefined && from !== to) this.#next[from]?.push(to);
  }

  #connect(change: ResourceChange): void {
    const make = this.#makes.get(change.address);
    const remove = this.#removes.get(objectKey(change));
    if (change.deposed === "" && make !== undefined && this.#makesSomething(change)) {
      for (const dependency of change.dependencies) {
        this.#afterMakes(make, dependency); // rule 1
        this.#beforeRemoves(make, dependency, "replaces"); // rule 4
      }
      if (remove !== undefined) {
        if (destroysFirst(change))
          this.#edge(remove, make); // rule 3
        else this.#edge(make, remove);
      }
    }
    if (remove !== undefined && !this.#early.has(remove) && !this.#reads.released.has(remove)) {
      for (const need of change.providerNeeds ?? []) this.#afterMakes(remove, need);
    }
    const old = this.#objects.get(objectKey(change));
    if (old === undefined) return;
    for (const dependency of old.dependencies) {
      if (remove !== undefined) this.#beforeRemoves(remove, dependency, "ends"); // rule 2
      if (make !== undefined && change.deposed === "")
        this.#beforeRemoves(make, dependency, "releases"); // rule 4
    }
  }

  /** `vertex` after everything that makes what it depends on, directly or through what does not change. */
  #afterMakes(vertex: number, { address, scope }: Dependency): void {
    if (scope === "instance") {
      this.#edge(this.#makes.get(address) ?? this.#passed(address), vertex);
      return;
    }
    const makes = this.#makesOf.get(address) ?? [];
    const unchanged = this.#unchangedOf.get(address) ?? [];
    if (makes.length + unchanged.length === 0) return;
    this.#edge(
      this.#group(`made ${address}`, (group) => {
        for (const make of makes) this.#edge(make, group);
        for (const one of unchanged) this.#edge(this.#passed(one), group);
      }),
      vertex,
    );
  }

  /** The vertex of an object that does not change: after everything that makes what it depends on. */
  #passed(address: string): number | undefined {
    const change = this.#unchanged.get(address);
    if (change === undefined) return undefined;
    return this.#group(`unchanged ${address}`, (vertex) => {
      this.#passing.push({ vertex, change });
    });
  }

  /**
   * `vertex` before the removals of what it depended on; letting go is waited for by late ones only. Of what it newly depends on
   * before those that a replacement leaves: with what uses the new object it is known that the old one is needed no more.
   */
  #beforeRemoves(
    vertex: number,
    { address, scope }: Dependency,
    why: "ends" | "releases" | "replaces",
  ): void {
    const { released, behind } = this.#reads;
    const isBehind = behind.has(vertex);
    const waits = (removal: number) => {
      if (why === "ends") return true;
      if (this.#early.has(removal) || (isBehind && released.has(removal))) return false;
      return why === "releases" || isLeft(this.#steps[removal]?.change);
    };
    const own = this.#steps[vertex]?.change;
    const removals = this.#removalsOf({ address, scope }).filter(waits);
    if (scope === "instance") {
      for (const removal of removals) {
        if (this.#steps[removal]?.change !== own) this.#edge(vertex, removal);
      }
      return;
    }
    if (removals.length === 0) return;
    const group = this.#group(`${why} ${address}${isBehind ? " behind reads" : ""}`, (made) => {
      for (const removal of removals) this.#edge(made, removal);
    });
    this.#edge(vertex, group);
  }

  /** The removals of what an object depends on by record. */
  #removalsOf({ address, scope }: Pick<Dependency, "address" | "scope">): readonly number[] {
    if (scope === "instance") {
      const removal = this.#removes.get(this.#aliases.get(address) ?? address);
      return removal === undefined ? [] : [removal];
    }
    const moved = [...(this.#movedFrom.get(address) ?? [])].flatMap(
      (former) => this.#removes.get(former) ?? [],
    );
    return [...(this.#removesOf.get(address) ?? []), ...moved];
  }

  #group(name: string, connect: (group: number) => void): number {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = this.#next.push([]) - 1;
      this.#groups.set(name, group);
      connect(group);
    }
    return group;
  }

  /**
   * Removals from which a replacement that destroys first is reached along old dependencies. Found backwards: from those
   * replacements to what depends on them.
   */
  #findEarly(): ReadonlySet<number> {
    const first = [...this.#steps.entries()].flatMap(([at, { kind, change }]) =>
      kind === "remove" && destroysFirst(change) ? [at] : [],
    );
    return this.#withDependents(first, this.#removedDependents());
  }

  /** Removals by what their objects depend on: the address of an instance, or that of a resource with `[]`. */
  #removedDependents(): ReadonlyMap<string, readonly number[]> {
    const dependents = new Map<string, number[]>();
    for (const [key, removal] of this.#removes) {
      for (const { address, scope } of this.#objects.get(key)?.dependencies ?? []) {
        const names =
          scope === "instance"
            ? [this.#aliases.get(address) ?? address]
            : [`${address}[]`, ...(this.#movedFrom.get(address) ?? [])];
        for (const name of names) {
          const list = dependents.get(name);
          if (list === undefined) dependents.set(name, [removal]);
          else list.push(removal);
        }
      }
    }
    return dependents;
  }

  /** Removals with those of what their objects depend on. */
  #withNeeded(removals: Iterable<number>): ReadonlySet<number> {
    const all = new Set(removals);
    const visited = new Set<string>();
    // Grows while it is walked.
    for (const at of all) {
      const change = this.#steps[at]?.change;
      const object = change && this.#objects.get(objectKey(change));
      for (const dependency of object?.dependencies ?? []) {
        const name = nameOf(dependency);
        if (visited.has(name)) continue;
        visited.add(name);
        for (const removal of this.#removalsOf(dependency)) all.add(removal);
      }
    }
    return all;
  }

  /** Removals with those of what depends on their objects. */
  #withDependents(
    removals: Iterable<number>,
    dependents: ReadonlyMap<string, readonly number[]>,
  ): ReadonlySet<number> {
    const all = new Set(removals);
    // Grows while it is walked.
    for (const at of all) {
      const address = this.#steps[at]?.change.address ?? "";
      for (const name of [address, `${resourceOf(address)}[]`]) {
        for (const dependent of dependents.get(name) ?? []) all.add(dependent);
      }
    }
    return all;
  }
}
