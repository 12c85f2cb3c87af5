import type {
  History,
  Moment,
  Sighting,
  Violation,
  WriteCall,
  WriteStepRecord,
} from "./history.ts";

// Is there an order of the calls on one key, each between its start and its end, in which every
// answer is the right one? The search is that of Wing and Gong with Lowe's memory of visited
// (done, state) pairs: calls and returns stand in a list in their order of time; a call at the front
// may be taken next if the model allows its answer; a return at the front whose call was not taken
// is a dead end. Calls whose answer was lost have no return: they may be taken, at any time, or not.
//
// Keys are checked one by one, which is sound because linearizability is a local property; batches
// count as one call on each of their keys (their atomicity is checked elsewhere).

/** What is stored under a key: nothing, or a lifetime with its latest write. */
type State = { readonly uid: string; readonly version: string; readonly token: string } | undefined;

interface KeyCall {
  readonly start: Moment;
  readonly end: Moment;
  readonly text: string;
  /** The state after the call if its answer is right in the given one, or `false`. */
  readonly step: (state: State) => State | false;
}

interface Entry {
  readonly call: number;
  readonly isReturn: boolean;
  previous: Entry | undefined;
  next: Entry | undefined;
  /** Of a call: its return. */
  match: Entry | undefined;
}

/** Checks the strong operations of a history, key by key. */
export function checkLinearizability(history: History): Violation[] {
  const versions = versionsByToken(history);
  const byKey = new Map<string, KeyCall[]>();
  const add = (key: string, call: KeyCall | undefined): void => {
    if (call === undefined) return;
    const calls = byKey.get(key);
    if (calls === undefined) byKey.set(key, [call]);
    else calls.push(call);
  };
  for (const write of history.writes) {
    for (const [index, step] of write.steps.entries()) {
      add(step.key, toKeyCall(write, index, step, versions));
    }
  }
  for (const { mode, key, start, end, found } of history.reads) {
    if (mode !== "strong") continue;
    const text = `read -> ${found === undefined ? "nothing" : found.version}`;
    add(key, { start, end, text, step: (state) => (agrees(state, found) ? state : false) });
  }
  const violations: Violation[] = [];
  for (const [key, calls] of byKey) {
    const stuck = findContradiction(calls);
    if (stuck !== undefined) violations.push({ rule: "linearizability", text: `${key}: ${stuck}` });
  }
  return violations;
}

/** Versions that are known of tokens, from acknowledgements and sightings. */
function versionsByToken(history: History): Map<string, string> {
  const versions = new Map<string, string>();
  const see = (seen: Sighting): void => void versions.set(seen.token, seen.version);
  for (const { steps, result } of history.writes) {
    if (result.kind !== "ok") continue;
    for (const [index, step] of steps.entries()) {
      const version = result.versions[index];
      if (step.kind === "write" && version !== undefined) versions.set(step.token, version);
    }
  }
  for (const { found } of history.reads) if (found !== undefined) see(found);
  for (const watch of history.watches) {
    for (const event of [...watch.snapshot, ...watch.deltas]) see(event.seen);
  }
  return versions;
}

/** What a write call says about one of its keys; `undefined` when nothing. */
function toKeyCall(
  write: WriteCall,
  index: number,
  step: WriteStepRecord,
  versions: ReadonlyMap<string, string>,
): KeyCall | undefined {
  const { result, start } = write;
  const what = `${step.kind} ${step.uid} "${step.expected}"`;
  switch (result.kind) {
    case "nothing":
      return undefined;
    case "ok": {
      const version = result.versions[index] ?? "";
      return { start, end: write.end, text: `${what} -> ${version}`, step: applied(step, version) };
    }
    case "unknown": {
      // Nobody has seen the version if it is not known; a text that no store gives stands for it.
      const version = step.kind === "write" ? (versions.get(step.token) ?? `?${step.token}`) : "";
      return {
        start,
        end: Number.POSITIVE_INFINITY,
        text: `${what} -> ?`,
        step: applied(step, version),
      };
    }
    case "refused": {
      if (result.index !== index) return undefined;
      const { code } = result;
      return {
        start,
        end: write.end,
        text: `${what} -> ${code}`,
        step: (state) => (refusal(state, step) === code ? state : false),
      };
    }
    default:
      return result satisfies never;
  }
}

function applied(step: WriteStepRecord, version: string): (state: State) => State | false {
  return (state) => {
    if (refusal(state, step) !== undefined) return false;
    if (step.kind === "write") return { uid: step.uid, version, token: step.token };
    return state !== undefined && state.uid === step.uid ? undefined : state;
  };
}

/** The contract's judgement of a step, written down a second time, independently of the engines. */
function refusal(state: State, step: WriteStepRecord): string | undefined {
  if (step.kind === "delete") {
    if (state === undefined || state.uid !== step.uid) return undefined;
    return state.version === step.expected ? undefined : "STORAGE_CAS_FAILURE";
  }
  if (state === undefined) return step.expected === "" ? undefined : "STORAGE_CAS_FAILURE";
  if (state.uid !== step.uid) return "STORAGE_WRONG_UID";
  return state.version === step.expected ? undefined : "STORAGE_CAS_FAILURE";
}

function agrees(state: State, found: Sighting | undefined): boolean {
  if (state === undefined || found === undefined) return state === undefined && found === undefined;
  return state.version === found.version && state.token === found.token && state.uid === found.uid;
}

/** `undefined` when there is an order; else what could not be placed. */
function findContradiction(calls: readonly KeyCall[]): string | undefined {
  const head = linkEntries(calls);
  const done = new Uint32Array(Math.ceil(calls.length / 32));
  const visited = new Set<string>();
  const stack: { readonly entry: Entry; readonly before: State }[] = [];
  let state: State;
  let deepest = 0;
  let stuckAt = "";
  let entry = head.next;
  while (entry !== undefined) {
    if (!entry.isReturn) {
      const next = (calls[entry.call] as KeyCall).step(state);
      if (next !== false && !seenBefore(visited, done, entry.call, next)) {
        stack.push({ entry, before: state });
        setBit(done, entry.call, true);
        state = next;
        lift(entry);
        entry = head.next;
      } else {
        entry = entry.next;
      }
      continue;
    }
    if (stack.length >= deepest) {
      deepest = stack.length;
      stuckAt = `${(calls[entry.call] as KeyCall).text} with ${state?.version ?? "nothing"} stored`;
    }
    const last = stack.pop();
    if (last === undefined) return `no order of ${calls.length} calls explains ${stuckAt}`;
    state = last.before;
    setBit(done, last.entry.call, false);
    unlift(last.entry);
    entry = last.entry.next;
  }
  return undefined;
}

function linkEntries(calls: readonly KeyCall[]): Entry {
  const make = (call: number, isReturn: boolean): Entry => ({
    call,
    isReturn,
    previous: undefined,
    next: undefined,
    match: undefined,
  });
  const head = make(-1, false);
  const points: { readonly at: Moment; readonly entry: Entry }[] = [];
  for (const [index, call] of calls.entries()) {
    const start = make(index, false);
    points.push({ at: call.start, entry: start });
    if (call.end === Number.POSITIVE_INFINITY) continue;
    start.match = make(index, true);
    points.push({ at: call.end, entry: start.match });
  }
  points.sort((left, right) => left.at - right.at);
  let last = head;
  for (const { entry } of points) {
    last.next = entry;
    entry.previous = last;
    last = entry;
  }
  return head;
}

function seenBefore(visited: Set<string>, done: Uint32Array, call: number, state: State): boolean {
  setBit(done, call, true);
  const key = `${done.join(".")} ${state === undefined ? "" : `${state.uid}/${state.token}`}`;
  setBit(done, call, false);
  if (visited.has(key)) return true;
  visited.add(key);
  return false;
}

function setBit(bits: Uint32Array, index: number, value: boolean): void {
  const word = index >>> 5;
  const mask = 1 << (index & 31);
  const old = bits[word] ?? 0;
  bits[word] = value ? old | mask : old & ~mask;
}

/** Takes a call and its return out of the list. */
function lift(entry: Entry): void {
  unlink(entry);
  if (entry.match !== undefined) unlink(entry.match);
}

/** Puts them back, in the opposite order. */
function unlift(entry: Entry): void {
  if (entry.match !== undefined) relink(entry.match);
  relink(entry);
}

function unlink(entry: Entry): void {
  if (entry.previous !== undefined) entry.previous.next = entry.next;
  if (entry.next !== undefined) entry.next.previous = entry.previous;
}

function relink(entry: Entry): void {
  if (entry.previous !== undefined) entry.previous.next = entry;
  if (entry.next !== undefined) entry.next.previous = entry;
}
