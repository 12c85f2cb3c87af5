import type { FetchDesc, NodeDesc, Obj } from "./program.ts";
import {
  derived,
  derivedMany,
  discards,
  fails,
  fulfils,
  grouped,
  merged,
  orderOf,
  projectionOf,
  runFetches,
  singletonOf,
  statusOf,
  summed,
  textOf,
  UNIT,
  viewed,
  weightOf,
} from "./semantics.ts";

export type Contents = ReadonlyMap<string, Obj>;

/** What the oracle knows of one input of a derivation. */
interface EntryState {
  /** Everything the last run saw, as text: a run is due exactly when it changes. */
  seen: string;
  outputs: readonly Obj[];
  /** With the input it was given for. */
  status: Obj | undefined;
  settled: boolean;
  /** The last run met a collection that was not synced. */
  suspended: boolean;
  /** The last run that was not suspended threw. */
  failed: boolean;
}

/** Thrown by a fetch of a collection that is not synced. */
const WAIT = Symbol("wait");

/**
 * One collection of the oracle. `evaluate` computes it anew from scratch; the only memory it has is the
 * one that the semantics ask for: sync is one-way, a discarded or suspended run keeps the last output.
 */
export class OracleNode {
  readonly desc: NodeDesc;
  /** The collections it refers to, resolved. */
  readonly refs: readonly OracleNode[];
  /** Sources only. */
  objects = new Map<string, Obj>();
  synced = false;
  contents: Contents = new Map();
  status: Contents = new Map();
  /** Nested joins only: member names, and what they stand for. */
  container = new Map<string, OracleNode>();
  /** Keys of this turn's updates that change nothing but were forced. */
  forced = new Set<string>();
  runs = 0;
  frozen = false;
  #entries = new Map<string, EntryState>();
  /** Nested joins: the member that counts under a name, until its successor is synced. */
  #active = new Map<string, OracleNode>();

  constructor(desc: NodeDesc, refs: readonly OracleNode[]) {
    this.desc = desc;
    this.refs = refs;
    if (desc.type === "source") this.synced = desc.synced;
  }

  /** Inputs whose transformation throws. */
  failures(): string[] {
    return [...this.#entries].filter(([, entry]) => entry.failed).map(([key]) => key);
  }

  evaluate(): void {
    if (this.frozen) return;
    const { desc } = this;
    switch (desc.type) {
      case "source":
        this.contents = new Map(this.objects);
        return;
      case "declared": {
        const ready = this.refs.every((ref) => ref.synced || ref.frozen);
        if (ready) this.#evaluateDerived(this.refs[0] as OracleNode, desc.fetches);
        return;
      }
      case "derive":
      case "many":
      case "status":
        return this.#evaluateDerived(this.refs[0] as OracleNode, desc.fetches);
      case "singleton":
        return this.#evaluateEntries(new Map([["", UNIT]]), desc.fetches, new Set());
      case "join":
        this.#unite(this.refs, desc.merge);
        if (this.refs.every((ref) => ref.synced)) this.synced = true;
        return;
      case "nested":
        return this.#evaluateNested(desc.merge);
      case "view":
        this.contents = new Map(
          Array.from(this.refs[0]?.contents ?? [], ([key, object]) => [key, viewed(object)]),
        );
        this.synced ||= this.refs[0]?.synced ?? false;
        return;
      case "ordered":
        this.#evaluateOrdered(desc.offset, desc.limit);
        this.synced ||= this.refs[0]?.synced ?? false;
        return;
      case "groups":
      case "sums":
        this.#evaluateGroups(desc.type === "sums");
        return;
      default:
        return desc satisfies never;
    }
  }

  #evaluateDerived(primary: OracleNode, fetches: readonly FetchDesc[]): void {
    if (primary.synced) this.#evaluateEntries(primary.contents, fetches, primary.forced);
  }

  #evaluateEntries(
    inputs: Contents,
    fetches: readonly FetchDesc[],
    forced: ReadonlySet<string>,
  ): void {
    for (const key of this.#entries.keys()) if (!inputs.has(key)) this.#entries.delete(key);
    const contents = new Map<string, Obj>();
    const status = new Map<string, Obj>();
    let suspended = false;
    for (const [key, input] of inputs) {
      const entry = this.#evaluateEntry(key, input, fetches, forced.has(key));
      suspended ||= entry.suspended;
      for (const output of entry.outputs) contents.set(output.key, output);
      if (entry.status !== undefined) status.set(key, entry.status);
    }
    this.contents = contents;
    this.status = status;
    if (!suspended) this.synced = true;
  }

  #evaluateEntry(
    key: string,
    input: Obj,
    fetches: readonly FetchDesc[],
    forced: boolean,
  ): EntryState {
    const entry: EntryState = this.#entries.get(key) ?? {
      seen: "",
      outputs: [],
      status: undefined,
      settled: false,
      suspended: false,
      failed: false,
    };
    this.#entries.set(key, entry);
    const seen: string[] = [textOf(input)];
    let touched = forced;
    entry.suspended = false;
    const offset = this.desc.type === "singleton" ? 0 : 1;
    try {
      const total = runFetches(fetches, input, (fetch, from) => {
        const target = this.refs[fetches.indexOf(fetch) + offset] as OracleNode;
        if (!target.synced) throw WAIT;
        const found = [...target.contents.values()].filter((object) =>
          fetch.filters.every((filter) => fulfils(filter, from, object)),
        );
        if (!fetch.partial && found.some((object) => target.forced.has(object.key))) touched = true;
        const given = fetch.partial ? found.map(projectionOf) : found;
        seen.push(given.map(textOf).sort().join(";"));
        return given;
      });
      const now = seen.join("\n");
      if (now !== entry.seen || touched) this.runs++;
      entry.seen = now;
      this.#accept(entry, input, total);
    } catch (error) {
      if (error !== WAIT) throw error;
      entry.seen = "";
      entry.suspended = true;
    }
    return entry;
  }

  #accept(entry: EntryState, input: Obj, total: number): void {
    const { desc } = this;
    const outputs = this.#outputsOf(input, total);
    const status = desc.type === "status" ? statusOf(input, total) : undefined;
    entry.failed = desc.type === "derive" && desc.fails && fails(input, total);
    if (entry.failed) return;
    if (desc.type === "derive" && desc.discards && discards(input, total)) {
      if (entry.settled || outputs.length === 0) return;
    }
    entry.settled = true;
    entry.outputs = outputs;
    entry.status = status === undefined ? undefined : { ...input, n: status };
  }

  #outputsOf(input: Obj, total: number): readonly Obj[] {
    const { type } = this.desc;
    if (type === "many") return derivedMany(input, total);
    const one = type === "singleton" ? singletonOf(total) : derived(input, total);
    return one === undefined ? [] : [one];
  }

  #evaluateNested(merge: boolean): void {
    for (const name of this.#active.keys())
      if (!this.container.has(name)) this.#active.delete(name);
    const members: OracleNode[] = [];
    let waits = false;
    const names = Array.from(this.container.keys()).sort();
    for (const name of names) {
      const wanted = this.container.get(name) as OracleNode;
      if (wanted.synced) this.#active.set(name, wanted);
      const active = this.#active.get(name);
      if (active === undefined) waits = true;
      else members.push(active);
    }
    this.#unite(members, merge);
    if (!waits) this.synced = true;
  }

  /** An update that was forced on the member whose object is shown is passed on. */
  #unite(members: readonly OracleNode[], merge: boolean): void {
    this.contents = unite(members, merge);
    if (merge) return;
    for (const key of this.contents.keys()) {
      const shown = members.find((member) => member.contents.has(key));
      if (shown?.forced.has(key) === true) this.forced.add(key);
    }
  }

  #evaluateOrdered(offset: number, limit: number): void {
    const base = this.refs[0] as OracleNode;
    const order = Array.from(base.contents).sort(
      ([one, a], [other, b]) => orderOf(a, b) || (one < other ? -1 : 1),
    );
    this.contents = new Map(order.slice(offset, limit === 0 ? undefined : offset + limit));
    for (const key of this.contents.keys()) if (base.forced.has(key)) this.forced.add(key);
  }

  #evaluateGroups(sums: boolean): void {
    // What is shown is a derivation of the groups, and so waits for the base to be synced.
    if (this.refs[0]?.synced !== true) return;
    this.synced = true;
    const groups = new Map<string, Obj[]>();
    for (const object of this.refs[0]?.contents.values() ?? []) {
      const group = groups.get(object.g) ?? [];
      group.push(object);
      groups.set(object.g, group);
    }
    this.contents = new Map(
      Array.from(groups, ([group, objects]) => {
        const sum = objects.reduce((total, object) => total + weightOf(object), 0);
        return [group, sums ? summed(group, sum, objects.length) : grouped(group, objects)];
      }),
    );
  }
}

function unite(members: readonly OracleNode[], merge: boolean): Contents {
  const keys = new Set(members.flatMap((member) => [...member.contents.keys()]));
  const contents = new Map<string, Obj>();
  for (const key of keys) {
    const versions = members.flatMap((member) => member.contents.get(key) ?? []);
    const object = merge ? merged(versions, key) : versions[0];
    if (object !== undefined) contents.set(key, object);
  }
  return contents;
}
