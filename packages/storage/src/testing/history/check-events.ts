import type {
  GuardRecord,
  History,
  Moment,
  Sighting,
  Violation,
  WriteCall,
  WriteStepRecord,
} from "./history.ts";

// The calls of a history are compared with the rows in which the engine has recorded its commits. Watches and reads show what
// the engine makes of these; the rows show what there is. A replay of them has to explain every answer and end
// as the rows of the resources do.

/** A row of the event table. */
export interface EventTableRow extends Sighting {
  readonly revision: number;
  readonly operation: "upsert" | "delete";
  readonly key: string;
}

/** The tables of a store, as they were read beside the engine. */
export interface EventTable {
  /** Commits up to here have no rows any more. */
  readonly compacted: number;
  /** Of the last commit. */
  readonly revision: number;
  /** In the order of their revisions. */
  readonly events: readonly EventTableRow[];
  /** What is stored, by key. */
  readonly stored: ReadonlyMap<string, Sighting>;
}

/** A step together with the call that it belongs to. */
interface Origin {
  readonly call: WriteCall;
  readonly step: WriteStepRecord;
  readonly index: number;
}

/**
 * Compares a history with the event table of its store: no revision is missing, each version has one writer and each event one
 * call, commits stand in the order in which calls followed each other, batches stand together and whole, guards held, everything
 * acknowledged is there, nothing refused is, and the stored resources are what the events add up to.
 */
export function checkEvents(history: History, table: EventTable): Violation[] {
  const check = new EventCheck(history, table);
  check.run();
  return check.violations;
}

class EventCheck {
  readonly violations: Violation[] = [];
  readonly #history: History;
  readonly #table: EventTable;
  readonly #writes = new Map<string, Origin>();
  readonly #deletes = new Map<string, Origin[]>();
  /** What is stored at the place of the replay; of keys that are not in it nothing is known where the table begins later. */
  readonly #state = new Map<string, Sighting | undefined>();
  /** Positions of the events of calls with several steps. */
  readonly #places = new Map<WriteCall, { readonly position: number; readonly index: number }[]>();
  /** Calls that may have made a delete event, by its position, where there are several. */
  readonly #claims = new Map<number, readonly WriteCall[]>();
  readonly #seen = new Set<string>();
  /** Keys of the calls; the markers at the end of a workload are not among them. */
  readonly #keys: ReadonlySet<string>;
  #latestStart: Moment = Number.NEGATIVE_INFINITY;

  constructor(history: History, table: EventTable) {
    this.#history = history;
    this.#table = table;
    this.#keys = new Set(history.writes.flatMap(({ steps }) => steps.map(({ key }) => key)));
    for (const call of history.writes) {
      if (call.result.kind === "refused" || call.result.kind === "nothing") continue;
      for (const [index, step] of call.steps.entries()) {
        if (step.kind === "write") {
          this.#writes.set(step.token, { call, step, index });
          continue;
        }
        const place = `${step.key} ${step.uid} ${step.expected}`;
        this.#deletes.set(place, [...(this.#deletes.get(place) ?? []), { call, step, index }]);
      }
    }
  }

  run(): void {
    const { compacted, revision, events } = this.#table;
    let next = compacted + 1;
    for (const [position, event] of events.entries()) {
      if (event.revision !== next) this.#report("gap", event, `stands where ${next} has to be`);
      next = event.revision + 1;
      if (this.#keys.has(event.key)) this.#replay(event, position);
    }
    if (next !== revision + 1) {
      this.violations.push({ rule: "gap", text: `the events end before ${revision}` });
    }
    this.#batches();
    this.#acknowledged();
    this.#storedState();
  }

  #replay(event: EventTableRow, position: number): void {
    const isKnown = this.#state.has(event.key) || this.#table.compacted === 0;
    const before = this.#state.get(event.key);
    const origin =
      event.operation === "upsert" ? this.#written(event) : this.#deleted(event, position);
    if (event.operation === "delete") {
      if (isKnown && (before?.version !== event.version || before.token !== event.token)) {
        this.#report("event-order", event, `but "${before?.version ?? ""}" is stored`);
      }
    } else if (origin !== undefined && isKnown) {
      const { expected, uid } = origin.step;
      if ((before?.version ?? "") !== expected || (before !== undefined && before.uid !== uid)) {
        const found = before?.version ?? "";
        this.#report("event-order", event, `replaces "${expected}", but "${found}" is stored`);
      }
    }
    if (origin !== undefined) this.#judge(event, origin, position);
    this.#state.set(event.key, event.operation === "upsert" ? event : undefined);
  }

  /** The call of an upsert. */
  #written(event: EventTableRow): Origin | undefined {
    const { key, version, token, uid, revision } = event;
    if (version !== String(revision)) {
      this.#report("version-reuse", event, `is commit ${revision}`);
    }
    if (this.#seen.has(token)) this.#report("repeated-event", event, "was written before");
    this.#seen.add(token);
    const origin = this.#writes.get(token);
    if (origin === undefined || origin.step.key !== key || origin.step.uid !== uid) {
      this.#report("phantom-event", event, "no call that can have written this");
      return undefined;
    }
    const { result } = origin.call;
    const acknowledged = result.kind === "ok" ? result.versions[origin.index] : version;
    if (acknowledged !== version) {
      this.#report("version-reuse", event, `was acknowledged as "${acknowledged ?? ""}"`);
    }
    return origin;
  }

  /** The call of a delete, where only one can have done it. */
  #deleted(event: EventTableRow, position: number): Origin | undefined {
    const { key, uid, version } = event;
    const claims = this.#deletes.get(`${key} ${uid} ${version}`) ?? [];
    if (claims.length === 0) {
      this.#report("phantom-event", event, "no call that can have deleted this");
    }
    if (claims.length === 1) return claims[0];
    this.#claims.set(
      position,
      claims.map(({ call }) => call),
    );
    return undefined;
  }

  #judge(event: EventTableRow, { call, index }: Origin, position: number): void {
    if (call.end < this.#latestStart) {
      this.#report("event-order", event, "stands behind one whose call began after its own ended");
    }
    this.#latestStart = Math.max(this.#latestStart, call.start);
    const places = this.#places.get(call) ?? [];
    // Guards are judged at the first event of their call.
    if (places.length === 0) for (const guard of call.guards) this.#guard(event, call, guard);
    this.#places.set(call, [...places, { position, index }]);
  }

  #guard(event: EventTableRow, call: WriteCall, { key, version }: GuardRecord): void {
    const isKnown = this.#state.has(key) || this.#table.compacted === 0;
    if (!isKnown || call.steps.some((step) => step.key === key)) return;
    const held = this.#state.get(key)?.version ?? "";
    if (held !== version) {
      this.#report("guard", event, `needed ${key} at "${version}", found "${held}"`);
    }
  }

  /** The events of a call stand next to each other, in the order of its steps, and none is missing. */
  #batches(): void {
    const first = this.#table.events[0]?.revision ?? 0;
    for (const [call, places] of this.#places) {
      for (const [offset, { position, index }] of places.entries()) {
        const before = places[offset - 1];
        if (before === undefined) continue;
        if (!this.#isTogether(call, before.position, position) || index <= before.index) {
          const event = this.#table.events[position] as EventTableRow;
          this.#report("batch", event, "is not next to the other steps of its batch");
        }
      }
      const written = call.steps.filter((step) => step.kind === "write").length;
      const found = places.filter(({ index }) => call.steps[index]?.kind === "write").length;
      // The beginning of the first batch may be compacted.
      const isCut = this.#table.compacted > 0 && places[0]?.position === 0;
      if (found !== written && !isCut) {
        const text = `${found} of ${written} writes of a batch are there, behind revision ${first}`;
        this.violations.push({ rule: "batch", text });
      }
    }
  }

  /** Whether what stands between two events of a call can be of it as well. */
  #isTogether(call: WriteCall, from: number, to: number): boolean {
    for (let position = from + 1; position < to; position += 1) {
      if (this.#claims.get(position)?.includes(call) !== true) return false;
    }
    return true;
  }

  #acknowledged(): void {
    for (const { steps, result } of this.#history.writes) {
      if (result.kind !== "ok") continue;
      for (const [index, step] of steps.entries()) {
        if (step.kind !== "write") continue;
        const version = result.versions[index] ?? "";
        if (Number(version) <= this.#table.compacted || this.#seen.has(step.token)) continue;
        this.violations.push({
          rule: "missing-event",
          text: `${step.key} version "${version}" was acknowledged and has no event`,
        });
      }
    }
  }

  #storedState(): void {
    for (const key of this.#keys) {
      if (!this.#state.has(key) && this.#table.compacted > 0) continue;
      const expected = this.#state.get(key);
      const found = this.#table.stored.get(key);
      if (expected?.version === found?.version && expected?.token === found?.token) continue;
      this.violations.push({
        rule: "stored-state",
        text: `${key} is "${found?.version ?? ""}", its events end at "${expected?.version ?? ""}"`,
      });
    }
  }

  #report(rule: Violation["rule"], event: EventTableRow, what: string): void {
    const { operation, key, version } = event;
    this.violations.push({ rule, text: `${operation} ${key} "${version}": ${what}` });
  }
}
