import type {
  EventRecord,
  History,
  Moment,
  Violation,
  WatchRecord,
  WriteCall,
  WriteStepRecord,
} from "./history.ts";

// Every watch claims to show all commits on its keys in commit order. That is checked against the
// calls: an event must stem from a call that can have succeeded and has begun; successive events of
// a key must follow from each other (each write replaces exactly what it expected); an event must
// not stand before one whose call had ended when its own had not begun; the guards of its call must
// hold at its place; the steps of a batch stand together; and what was acknowledged must be there.

/** A step together with the call that it belongs to. */
interface Origin {
  readonly call: WriteCall;
  readonly step: WriteStepRecord;
  readonly index: number;
}

/** Calls by what they leave behind. */
interface Origins {
  /** Writes by token. */
  readonly writes: ReadonlyMap<string, Origin>;
  /** Deletes by key and version; several calls may claim the same deletion. */
  readonly deletes: ReadonlyMap<string, readonly Origin[]>;
}

/** Checks every watch of a history. */
export function checkWatches(history: History): Violation[] {
  const origins = findOrigins(history);
  return history.watches.flatMap((watch) => {
    const violations: Violation[] = [];
    new WatchCheck(history, watch, origins, violations).run();
    return violations;
  });
}

function findOrigins(history: History): Origins {
  const writes = new Map<string, Origin>();
  const deletes = new Map<string, Origin[]>();
  for (const call of history.writes) {
    // A call that was refused cannot have left anything behind.
    if (call.result.kind === "refused" || call.result.kind === "nothing") continue;
    for (const [index, step] of call.steps.entries()) {
      if (step.kind === "write") {
        writes.set(step.token, { call, step, index });
      } else {
        const place = `${step.key} ${step.expected}`;
        const claims = deletes.get(place) ?? [];
        claims.push({ call, step, index });
        deletes.set(place, claims);
      }
    }
  }
  return { writes, deletes };
}

class WatchCheck {
  readonly #history: History;
  readonly #watch: WatchRecord;
  readonly #origins: Origins;
  readonly #violations: Violation[];
  /** Version stored per key, as far as the watch has told. */
  readonly #stored = new Map<string, string>();
  readonly #seen = new Set<string>();
  /** Latest start of a call among the events so far. */
  #latestStart: Moment = Number.NEGATIVE_INFINITY;

  constructor(history: History, watch: WatchRecord, origins: Origins, violations: Violation[]) {
    this.#history = history;
    this.#watch = watch;
    this.#origins = origins;
    this.#violations = violations;
  }

  run(): void {
    const { snapshot, deltas } = this.#watch;
    if (this.#watch.resumes !== undefined) this.#inherit(this.#watch.resumes);
    for (const event of snapshot) {
      const origin = this.#source(event);
      this.#latestStart = Math.max(this.#latestStart, origin?.call.start ?? this.#latestStart);
      if (this.#stored.has(event.key)) this.#report("repeated-event", event, "in the snapshot");
      this.#stored.set(event.key, event.seen.version);
      this.#seen.add(identity(event));
    }
    for (const [position, event] of deltas.entries()) this.#delta(event, position);
    if (this.#watch.drained) this.#completeness();
  }

  /** A resumed watch goes on with what the ones before it have told. */
  #inherit(position: number): void {
    const earlier = this.#history.watches[position];
    if (earlier === undefined) return;
    if (earlier.resumes !== undefined) this.#inherit(earlier.resumes);
    for (const event of [...earlier.snapshot, ...earlier.deltas]) {
      this.#seen.add(identity(event));
      if (event.operation === "upsert") this.#stored.set(event.key, event.seen.version);
      else this.#stored.delete(event.key);
    }
  }

  #delta(event: EventRecord, position: number): void {
    if (this.#seen.has(identity(event))) {
      this.#report("repeated-event", event, "was delivered before");
      return;
    }
    this.#seen.add(identity(event));
    const origin = this.#source(event);
    const before = this.#stored.get(event.key);
    const expected = event.operation === "delete" ? event.seen.version : origin?.step.expected;
    if (expected !== undefined && (before ?? "") !== expected) {
      this.#report("event-order", event, `replaces "${expected}", but "${before ?? ""}" is stored`);
    }
    if (origin !== undefined) this.#checkOrigin(event, origin, position);
    if (event.operation === "upsert") this.#stored.set(event.key, event.seen.version);
    else this.#stored.delete(event.key);
  }

  #checkOrigin(event: EventRecord, { call, index }: Origin, position: number): void {
    if (call.end < this.#latestStart) {
      this.#report("event-order", event, "stands behind one whose call began after its own ended");
    }
    this.#latestStart = Math.max(this.#latestStart, call.start);
    if (call.steps.length > 1 && index > 0) this.#batchNeighbours(event, call, index, position);
    for (const guard of call.guards) {
      // Only keys that this watch selects can be judged from it.
      if (!selects(this.#watch, guard.key) || call.steps.some((step) => step.key === guard.key)) {
        continue;
      }
      const held = this.#stored.get(guard.key) ?? "";
      if (held !== guard.version) {
        this.#report("guard", event, `needed ${guard.key} at "${guard.version}", found "${held}"`);
      }
    }
  }

  /** Before a later step of a batch stands an earlier one of it, if the watch selects one. */
  #batchNeighbours(event: EventRecord, call: WriteCall, index: number, position: number): void {
    const earlier = call.steps.slice(0, index).filter((step) => selects(this.#watch, step.key));
    if (earlier.length === 0) return;
    const previous = this.#watch.deltas[position - 1];
    // A delete without effect has no event, and a snapshot may have taken in the whole batch.
    if (previous === undefined || earlier.some((step) => step.kind === "delete")) return;
    if (!earlier.some((step) => step.kind === "write" && step.token === previous.seen.token)) {
      this.#report("batch", event, "is not next to the other steps of its batch");
    }
  }

  /** The call that an event stems from; a violation when there is none. */
  #source(event: EventRecord): Origin | undefined {
    const { operation, key, seen, at } = event;
    const write = this.#origins.writes.get(seen.token);
    if (write === undefined || write.step.key !== key || write.call.start > at) {
      this.#report("phantom-event", event, "no call that can have written this");
      return undefined;
    }
    const version =
      write.call.result.kind === "ok" ? write.call.result.versions[write.index] : undefined;
    if (version !== undefined && version !== seen.version) {
      this.#report("phantom-event", event, `was acknowledged as version "${version}"`);
    }
    if (operation === "upsert") return write;
    const claims = this.#origins.deletes.get(`${key} ${seen.version}`) ?? [];
    const begun = claims.filter((claim) => claim.call.start <= at && claim.step.uid === seen.uid);
    const [first] = begun;
    if (first === undefined) {
      this.#report("phantom-event", event, "no call that can have deleted this");
      return undefined;
    }
    // Of several calls that may have deleted it, only what holds for all of them is checked.
    return begun.length === 1 ? first : undefined;
  }

  #completeness(): void {
    for (const call of this.#history.writes) {
      if (call.result.kind !== "ok") continue;
      for (const [index, step] of call.steps.entries()) {
        if (step.kind !== "write" || !selects(this.#watch, step.key)) continue;
        const version = call.result.versions[index] ?? "";
        if (this.#seen.has(`upsert ${step.key} ${version}`)) continue;
        // What began before that may have been committed and replaced before the snapshot.
        if (call.start > this.#watch.established) {
          this.#violations.push({
            rule: "missing-event",
            text: `${step.key} version "${version}" was acknowledged and never delivered`,
          });
        }
      }
    }
    this.#finalState();
  }

  /** A drained watch has folded to what the last strong reads found. */
  #finalState(): void {
    const last = new Map<string, string | undefined>();
    let lastWrite = Number.NEGATIVE_INFINITY;
    for (const call of this.#history.writes) lastWrite = Math.max(lastWrite, call.start);
    for (const { mode, start, key, found } of this.#history.reads) {
      if (mode === "strong" && start > lastWrite) last.set(key, found?.version);
    }
    // A lost call may still have happened between the last event and the last read.
    for (const { steps, result } of this.#history.writes) {
      if (result.kind === "unknown") for (const step of steps) last.delete(step.key);
    }
    for (const [key, version] of last) {
      if (!selects(this.#watch, key) || this.#stored.get(key) === version) continue;
      this.#violations.push({
        rule: "missing-event",
        text: `${key} ended as "${version ?? ""}", the watch as "${this.#stored.get(key) ?? ""}"`,
      });
    }
  }

  #report(rule: Violation["rule"], event: EventRecord, what: string): void {
    const { operation, key, seen } = event;
    this.#violations.push({ rule, text: `${operation} ${key} "${seen.version}": ${what}` });
  }
}

function selects(watch: WatchRecord, key: string): boolean {
  return key.startsWith(watch.prefix);
}

function identity(event: EventRecord): string {
  return `${event.operation} ${event.key} ${event.seen.version}`;
}
