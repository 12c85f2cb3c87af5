import type { History, Moment, Violation } from "./history.ts";

// On one instance no read may show less than an earlier read or event of that instance did. Which
// of two states of a key is the later one follows from the writes: each replaces the version that it
// expected, and a delete ends the version that it names. Where lifetimes are not linked by a write
// (a creation expects nothing), the watches say which came after which. Together that is a graph of
// states; a state is later than another if it can be reached from it.

/** Something that was seen of a key on an instance. */
interface Observation {
  readonly key: string;
  readonly start: Moment;
  readonly end: Moment;
  /** The state seen; `undefined` for "nothing stored", which several states are. */
  readonly state: string | undefined;
  /** Reads are judged; events only set the bound. */
  readonly isRead: boolean;
}

/** Checks the reads of each instance against what it has shown before. */
export function checkMonotonicReads(history: History): Violation[] {
  const violations: Violation[] = [];
  const graph = buildGraph(history);
  for (const key of graph.cyclic()) {
    violations.push({ rule: "event-order", text: `${key}: watches contradict the writes` });
  }
  if (violations.length > 0) return violations;
  for (const observations of observe(history).values()) {
    checkSequence(observations, graph, violations);
  }
  return violations;
}

const upsert = (key: string, version: string): string => `${key} upsert ${version}`;
const removal = (key: string, version: string): string => `${key} delete ${version}`;

/** States of keys and which follows which. */
class StateGraph {
  readonly #next = new Map<string, Set<string>>();
  readonly #states = new Map<string, Set<string>>();

  add(key: string, state: string): void {
    const states = this.#states.get(key) ?? new Set<string>();
    this.#states.set(key, states.add(state));
  }

  link(key: string, from: string, to: string): void {
    this.add(key, from);
    this.add(key, to);
    const next = this.#next.get(from) ?? new Set<string>();
    this.#next.set(from, next.add(to));
  }

  /** Whether `later` comes after `earlier` for certain. */
  follows(later: string, earlier: string): boolean {
    const open = [earlier];
    const visited = new Set<string>();
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      for (const next of this.#next.get(state) ?? []) {
        if (next === later) return true;
        if (visited.has(next)) continue;
        visited.add(next);
        open.push(next);
      }
    }
    return false;
  }

  /** States of a key in which nothing is stored, but for the first. */
  removals(key: string): readonly string[] {
    return Array.from(this.#states.get(key) ?? []).filter((state) =>
      state.startsWith(`${key} delete `),
    );
  }

  /** Keys whose states follow themselves. */
  cyclic(): readonly string[] {
    return Array.from(this.#states)
      .filter(([, states]) => Array.from(states).some((state) => this.follows(state, state)))
      .map(([key]) => key);
  }
}

function buildGraph(history: History): StateGraph {
  const graph = new StateGraph();
  for (const { steps, result } of history.writes) {
    if (result.kind !== "ok" && result.kind !== "unknown") continue;
    for (const [index, step] of steps.entries()) {
      if (step.kind === "delete") {
        const { key, expected } = step;
        graph.link(key, upsert(key, expected), removal(key, expected));
        continue;
      }
      const version = result.kind === "ok" ? result.versions[index] : undefined;
      if (version === undefined) continue;
      graph.add(step.key, upsert(step.key, version));
      if (step.expected === "") continue;
      graph.link(step.key, upsert(step.key, step.expected), upsert(step.key, version));
    }
  }
  for (const watch of history.watches) {
    const last = new Map<string, string>();
    for (const { operation, key, seen } of [...watch.snapshot, ...watch.deltas]) {
      const state = (operation === "upsert" ? upsert : removal)(key, seen.version);
      const before = last.get(key);
      if (before !== undefined) graph.link(key, before, state);
      if (operation === "delete") graph.link(key, upsert(key, seen.version), state);
      last.set(key, state);
    }
  }
  return graph;
}

function observe(history: History): Map<number, Observation[]> {
  const byInstance = new Map<number, Observation[]>();
  const add = (instance: number, observation: Observation): void => {
    const observations = byInstance.get(instance);
    if (observations === undefined) byInstance.set(instance, [observation]);
    else observations.push(observation);
  };
  for (const { instance, key, start, end, found } of history.reads) {
    const state = found === undefined ? undefined : upsert(key, found.version);
    add(instance, { key, start, end, state, isRead: true });
  }
  for (const { instance, snapshot, deltas } of history.watches) {
    for (const { operation, key, seen, at } of [...snapshot, ...deltas]) {
      const state = (operation === "upsert" ? upsert : removal)(key, seen.version);
      add(instance, { key, start: at, end: at, state, isRead: false });
    }
  }
  return byInstance;
}

function checkSequence(
  observations: readonly Observation[],
  graph: StateGraph,
  violations: Violation[],
): void {
  // In order of start, each read against everything that had ended by then.
  const byEnd = observations.toSorted((left, right) => left.end - right.end);
  const reads = observations
    .filter((observation) => observation.isRead)
    .toSorted((left, right) => left.start - right.start);
  const bounds = new Map<string, string>();
  let position = 0;
  for (const read of reads) {
    for (; position < byEnd.length; position += 1) {
      const earlier = byEnd[position] as Observation;
      if (earlier.end >= read.start) break;
      raise(bounds, earlier, graph);
    }
    const bound = bounds.get(read.key);
    if (bound === undefined) continue;
    if (read.state === undefined) {
      const possible = graph.removals(read.key).some((state) => !graph.follows(bound, state));
      if (possible) continue;
    } else if (read.state === bound || !graph.follows(bound, read.state)) {
      continue;
    }
    const shown = read.state ?? `${read.key} nothing`;
    violations.push({ rule: "monotonic-reads", text: `${shown} was read after ${bound}` });
  }
}

function raise(bounds: Map<string, string>, seen: Observation, graph: StateGraph): void {
  if (seen.state === undefined) return;
  const bound = bounds.get(seen.key);
  if (bound === undefined || graph.follows(seen.state, bound)) bounds.set(seen.key, seen.state);
}
