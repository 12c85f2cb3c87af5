import type { ResourceChange } from "../plan/change.ts";
import { resourceOf } from "../state/check-state.ts";
import { type Dependency, objectKey, type StateObject } from "../state/state-object.ts";

/** One half of a change: what produces the new object, or what ends the old one. */
export interface Step {
  readonly kind: "make" | "remove";
  readonly change: ResourceChange;
  /** Of a removal: whether it happens while its dependents still refer to the object. */
  readonly early?: boolean;
}

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
 * Orders the steps of a plan by the five rules of the design page ("Order"), which see for why there is no cycle. `objects`
 * is the state that the plan was made from: its dependencies are the old ones. `open` are addresses of objects whose
 * conditions are still to be decided, so that they are steps even where nothing changes.
 *
 * Cost. A dependency on all instances of a resource goes through a vertex for that resource, so that n dependents of n
 * instances are 2n edges.
 */
export function orderSteps(
  changes: readonly ResourceChange[],
  objects: ReadonlyMap<string, StateObject>,
  open: ReadonlySet<string> = new Set(),
): StepGraph {
  const order = new StepOrder(changes, objects, open);
  const graph = order.graph();
  const reads = order.readsAfterRemovals();
  if (reads.length === 0) return graph;
  const forReads = order.releasesForReads(reads);
  const ordered = new StepOrder(changes, objects, open, forReads).graph();
  const next = ordered.next.map((followers) => [...followers]);
  for (const { read, removals } of reads) {
    for (const removal of removals) if (!forReads.bound.has(removal)) next[removal]?.push(read);
  }
  const complete = { ...ordered, next };
  return isAcyclic(complete) ? complete : graph;
}

/** What rule 5 takes from rule 4. */
interface ReleasesForReads {
  /** Removals that do not wait for the makes behind the reads, as these come after them. */
  readonly removals: ReadonlySet<number>;
  /** Vertices that come after a read. */
  readonly behind: ReadonlySet<number>;
  /** Removals that come after a replacement that creates first, which may need the reads. */
  readonly bound: ReadonlySet<number>;
}

/** A read that is made during the apply, and the removals that it comes after. */
interface LateRead {
  readonly read: number;
  readonly removals: readonly number[];
}

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
  readonly #removesOf = new Map<string, number[]>();
  readonly #groups = new Map<string, number>();
  readonly #changes: readonly ResourceChange[];
  readonly #objects: ReadonlyMap<string, StateObject>;
  readonly #open: ReadonlySet<string>;
  readonly #aliases = new Map<string, string>();
  /** Objects that were instances of a resource when others came to depend on it, and have moved away since. */
  readonly #movedFrom = new Map<string, Set<string>>();
  readonly #forReads: ReleasesForReads;
  #early: ReadonlySet<number> = new Set();

  constructor(
    changes: readonly ResourceChange[],
    objects: ReadonlyMap<string, StateObject>,
    open: ReadonlySet<string>,
    forReads: ReleasesForReads = { removals: new Set(), behind: new Set(), bound: new Set() },
  ) {
    this.#changes = changes;
    this.#objects = objects;
    this.#open = open;
    this.#forReads = forReads;
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
    for (const at of [...this.#early, ...this.#forReads.removals]) {
      const step = this.#steps[at];
      if (step !== undefined) this.#steps[at] = { ...step, early: true };
    }
    for (const change of this.#changes) this.#connect(change);
    return { steps: this.#steps, size: this.#next.length, next: this.#next };
  }

  /** Reads of data sources that depend on something of which instances are deleted: these see what is there afterwards. */
  readsAfterRemovals(): readonly LateRead[] {
    return this.#changes.flatMap(({ action, address, dependencies }) => {
      const read = action === "read" ? this.#makes.get(address) : undefined;
      if (read === undefined) return [];
      const removals = dependencies.flatMap((one) => {
        if (one.kind === "provider") return [];
        return one.scope === "instance"
          ? (this.#removes.get(one.address) ?? [])
          : (this.#removesOf.get(one.address) ?? []);
      });
      const deletes = removals.filter((at) => this.#steps[at]?.change.action === "delete");
      return deletes.length === 0 ? [] : [{ read, removals: [...new Set(deletes)] }];
    });
  }

  /**
   * The removals that would wait for what these reads lead to, as dependents stop using an object before its removal, with all that is removed
   * before them.
   */
  releasesForReads(reads: readonly LateRead[]): ReleasesForReads {
    const behind = new Set(reads.map(({ read }) => read));
    // Grows while it is walked.
    for (const vertex of behind) for (const next of this.#next[vertex] ?? []) behind.add(next);
    const removals = new Set<number>();
    const bound = new Set<number>();
    const dependents = this.#removedDependents();
    for (const removal of reads.flatMap((one) => one.removals)) {
      if (!behind.has(removal) || removals.has(removal)) continue;
      const before = this.#withDependents([removal], dependents);
      const isFree = [...before].every((at) => this.#steps[at]?.change.order !== "create-first");
      if (!isFree) bound.add(removal);
      else for (const at of before) removals.add(at);
    }
    return { removals, behind, bound };
  }

  #declare(change: ResourceChange): void {
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
    if (removes(change)) add("remove", this.#removes, this.#removesOf);
  }

  #makesSomething(change: ResourceChange): boolean {
    return makes(change, change.deposed === "" && this.#open.has(change.address));
  }

  #edge(from: number | undefined, to: number | undefined): void {
    if (from !== undefined && to !== undefined && from !== to) this.#next[from]?.push(to);
  }

  #connect(change: ResourceChange): void {
    const make = this.#makes.get(change.address);
    const remove = this.#removes.get(objectKey(change));
    if (change.deposed === "" && make !== undefined && this.#makesSomething(change)) {
      for (const dependency of change.dependencies) this.#afterMakes(make, dependency); // rule 1
      if (remove !== undefined) {
        if (destroysFirst(change))
          this.#edge(remove, make); // rule 3
        else this.#edge(make, remove);
      }
    }
    if (remove !== undefined && !this.#early.has(remove) && !this.#forReads.removals.has(remove)) {
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

  /** `vertex` after everything that makes what it depends on. */
  #afterMakes(vertex: number, { address, scope }: Dependency): void {
    if (scope === "instance") {
      this.#edge(this.#makes.get(address), vertex);
      return;
    }
    const makes = this.#makesOf.get(address);
    if (makes === undefined) return;
    this.#edge(
      this.#group(`made ${address}`, (group) => {
        for (const make of makes) this.#edge(make, group);
      }),
      vertex,
    );
  }

  /** `vertex` before the removals of what it depended on; letting go is waited for by late ones only. */
  #beforeRemoves(vertex: number, { address, scope }: Dependency, why: "ends" | "releases"): void {
    const { removals: forReads, behind } = this.#forReads;
    const isBehind = behind.has(vertex);
    const waits = (removal: number) =>
      why === "ends" || !(this.#early.has(removal) || (isBehind && forReads.has(removal)));
    const own = this.#steps[vertex]?.change;
    if (scope === "instance") {
      const removal = this.#removes.get(this.#aliases.get(address) ?? address);
      if (removal !== undefined && waits(removal) && this.#steps[removal]?.change !== own) {
        this.#edge(vertex, removal);
      }
      return;
    }
    const moved = [...(this.#movedFrom.get(address) ?? [])].flatMap(
      (former) => this.#removes.get(former) ?? [],
    );
    const removals = [...(this.#removesOf.get(address) ?? []), ...moved].filter(waits);
    if (removals.length === 0) return;
    const group = this.#group(`${why} ${address}${isBehind ? " behind reads" : ""}`, (made) => {
      for (const removal of removals) this.#edge(made, removal);
    });
    this.#edge(vertex, group);
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
