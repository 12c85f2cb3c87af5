import type { Plan } from "../../plan/plan.ts";
import { resourceOf } from "../../state/check-state.ts";
import type { StackSnapshot } from "../../state/stack-state.ts";
import { isPlaceholder, type ObjectKey, type StateObject } from "../../state/state-object.ts";
import {
  type CloudCall,
  type CloudObject,
  cloudKey,
  type ModelCloud,
} from "../model/model-cloud.ts";
import { expectedObjects, withDependents, withNeeds } from "./expected-objects.ts";
import { CANARY, type SimMove } from "./sim-config.ts";
import type { SimStep } from "./simulate.ts";

/** What one process did in a step, as its caller saw it. */
export interface RunReport {
  readonly owner: string;
  readonly step: SimStep;
  readonly outcome: string;
  /** The plan that was applied. */
  readonly plan?: Plan;
  /** The plan was made in an earlier step, and the head of the stack was at this revision when it was to be applied. */
  readonly keptUntil?: bigint;
  /** It died, or froze. */
  readonly isCasualty: boolean;
}

/** An object at rest. */
interface Rest {
  readonly object: StateObject;
  readonly facts: Facts;
  /** A call may have removed it and reported a failure. */
  readonly isThere: boolean;
}

/** The attributes that are compared. */
interface Facts {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly size: number;
  readonly serial: number;
  readonly links: readonly string[];
}

/**
 * A second opinion of what has to be recorded: worked out from the generated configurations, the calls that the cloud saw and
 * what callers were answered, with nothing of the engine but its vocabulary. Stepped beside the real runs; rules continue those
 * of the {@link Oracle}.
 *
 * 11. An object whose create was answered with an error is tainted, one whose create was answered well never is, and both stay so.
 * 12. After a whole apply the state holds the objects of the configuration and no others, each with the attributes, links and
 *     dependencies that the configuration gives it and the attributes that the cloud has.
 * 13. A plan that was made for another revision does nothing.
 * 14. Nothing is called that the plan does not say.
 * 15. A partial plan calls nothing beyond its targets and what they need, and nothing that is excluded or depends on it; a
 *     refresh-only plan calls nothing.
 * 16. An address whose replacement was not made has its object back.
 * 17. An object is another one only where the configuration, a request, taint, or its loss asks for it; moves keep objects.
 * 18. What was requested to be replaced is another object after a whole apply.
 * 19. The outputs of a whole apply are those of the configuration.
 * 20. Where nothing goes wrong, and nothing is unresolved, a run comes to its end.
 */
export class RecordModel {
  readonly #cloud: ModelCloud;
  readonly #fail: (rule: number, text: string) => void;
  readonly #keyOf: (operation: string) => ObjectKey | undefined;
  /** Calls that change something, by process. */
  readonly #calls = new Map<string, CloudCall[]>();
  /** Whether an object has to be tainted, by its key in the cloud; absent: both may be. */
  readonly #tainted = new Map<string, boolean>();
  /** Addresses whose current object was deleted since they last had one. */
  readonly #deleted = new Set<string>();
  /** The address that an object was made for, or last seen at. */
  readonly #places = new Map<string, string>();
  /** Objects that others removed. */
  readonly #removed = new Set<string>();
  #before: ReadonlyMap<string, Rest> | undefined = new Map();
  #reports: readonly RunReport[] = [];
  /** Whether something was unresolved before; an interrupted run may have left something. */
  #wasOpen = false;

  constructor(
    cloud: ModelCloud,
    /** The object that an operation was announced for. */
    keyOf: (operation: string) => ObjectKey | undefined,
    fail: (rule: number, text: string) => void,
  ) {
    this.#cloud = cloud;
    this.#keyOf = keyOf;
    this.#fail = fail;
  }

  /** A call that changes something begins. */
  begin(call: CloudCall, owner: string): void {
    if (call.method !== "create" && call.method !== "update" && call.method !== "delete") return;
    const own = this.#calls.get(owner);
    if (own === undefined) this.#calls.set(owner, [call]);
    else own.push(call);
  }

  /** Something else than an engine removed an object. */
  removed(key: string): void {
    this.#removed.add(key);
    const place = this.#places.get(key);
    if (place !== undefined) this.#deleted.add(place);
  }

  /** The processes of a step have ended. */
  ended(reports: readonly RunReport[]): void {
    this.#reports = reports;
    for (const report of reports) this.#checkCalls(report);
    this.#learn();
  }

  /** The state after a step; absent while a run is interrupted. */
  rest(snapshot: StackSnapshot | undefined): void {
    if (snapshot === undefined) {
      this.#before = undefined;
      this.#wasOpen = true;
      return;
    }
    const now = this.#restOf(snapshot);
    // What is unresolved, and what depends on it, is left out of every plan.
    const isOpen = [...snapshot.objects.values()].some(({ phase }) => phase === "unresolved");
    this.#checkTaint(now);
    this.#checkPlaces(snapshot);
    for (const report of this.#reports) this.#checkIdentities(report, now);
    for (const report of this.#reports) this.#checkEnd(report);
    this.#wasOpen = isOpen;
    const [report] = this.#reports;
    if (report !== undefined && this.#reports.length === 1 && !isOpen && isWhole(report)) {
      this.#checkWhole(report, snapshot, now);
    }
    this.#before = now;
    this.#reports = [];
  }

  #restOf({ objects }: StackSnapshot): ReadonlyMap<string, Rest> {
    const rest = new Map<string, Rest>();
    for (const [key, object] of objects) {
      if (object.mode === "data" || object.value === undefined) continue;
      const { id, name, kind, size, serial, links } = JSON.parse(object.value.json) as Facts;
      const isThere = this.#cloud.objects.has(cloudKey(object.type, id));
      if (object.deposed === "") this.#places.set(cloudKey(object.type, id), object.address);
      rest.set(key, {
        object,
        facts: { id, name, kind, size, serial, links: links ?? [] },
        isThere,
      });
    }
    return rest;
  }

  /** Rules 13 to 15. */
  #checkCalls({ owner, step, plan, keptUntil }: RunReport): void {
    const calls = this.#calls.get(owner) ?? [];
    const [first] = calls;
    if (first !== undefined && plan === undefined) {
      this.#fail(14, `${owner} calls ${first.method} without a plan`);
      return;
    }
    if (first !== undefined && keptUntil !== undefined && keptUntil !== plan?.revision) {
      this.#fail(13, `a plan of revision ${plan?.revision} is applied at ${keptUntil}`);
    }
    const { refreshOnly, targets, excludes } = step.ways ?? {};
    if (first !== undefined && refreshOnly) {
      this.#fail(15, `a refresh-only plan calls ${first.method}`);
    }
    const isFresh = keptUntil === undefined && !step.destroy;
    for (const { method, operationId } of calls) {
      const key = this.#keyOf(operationId);
      if (key === undefined) continue;
      if (!isPlanned(plan, method, key)) {
        this.#fail(14, `${method} of ${key.address} is not in the plan`);
      }
      const resource = resourceOf(key.address);
      if (!isFresh) continue;
      if (targets !== undefined && !this.#reach(step, targets)?.has(resource)) {
        this.#fail(15, `${method} of ${key.address} is beyond the targets ${targets.join()}`);
      }
      if (excludes !== undefined && withDependents(step.config, excludes).has(resource)) {
        this.#fail(15, `${method} of ${key.address}, which is excluded by ${excludes.join()}`);
      }
    }
  }

  /** What targets need, by the configuration and by what is recorded. Absent: what is recorded is not known. */
  #reach({ config, moves }: SimStep, targets: readonly string[]): { has(one: string): boolean } {
    const reached = withNeeds(config, targets);
    if (this.#before === undefined) return { has: () => true };
    for (let grown = true; grown; ) {
      grown = false;
      for (const { object } of this.#before.values()) {
        if (!reached.has(movedResource(object.address, moves))) continue;
        for (const { address } of object.dependencies) {
          for (const need of withNeeds(config, [movedResource(address, moves)])) {
            grown ||= !reached.has(need);
            reached.add(need);
          }
        }
      }
    }
    return reached;
  }

  /** Takes up what calls were answered since the last time. */
  #learn(): void {
    for (const report of this.#reports) {
      for (const call of this.#calls.get(report.owner) ?? []) this.#learnCall(call, report);
    }
  }

  #learnCall(call: CloudCall, report: RunReport): void {
    const { method, type, id, applied, operationId, fault } = call;
    if (!applied) return;
    const key = this.#keyOf(operationId);
    if (method === "delete") {
      this.#tainted.delete(cloudKey(type, id));
      if (key?.deposed === "") this.#deleted.add(key.address);
    }
    if (method !== "create") return;
    const made = [...this.#cloud.objects.values()].find(
      ({ createdBy }) => createdBy === operationId,
    );
    if (made === undefined) return;
    const madeKey = cloudKey(made.type, made.id);
    if (key !== undefined) {
      this.#deleted.delete(key.address);
      this.#places.set(madeKey, key.address);
    }
    this.#removed.delete(madeKey);
    if (fault === undefined) this.#tainted.set(madeKey, false);
    // An answer that a process did not record, for whatever reason, is as good as lost.
    else if (fault === "partial" && call.endOrder !== undefined && isSteady(report)) {
      this.#tainted.set(madeKey, true);
    } else this.#tainted.delete(madeKey);
  }

  /** Rule 11. */
  #checkTaint(now: ReadonlyMap<string, Rest>): void {
    for (const { object, facts } of now.values()) {
      const { phase, address, type } = object;
      const key = cloudKey(type, facts.id);
      const known = this.#tainted.get(key);
      // An operator decides about what is unresolved.
      if (phase === "unresolved") this.#tainted.delete(key);
      if (known === undefined || (phase !== "ready" && phase !== "tainted")) continue;
      if (known !== (phase === "tainted")) {
        this.#fail(
          11,
          `${address} is ${phase}, and its create was ${known ? "half" : "well"} done`,
        );
      }
    }
  }

  /** Rule 16. */
  #checkPlaces({ objects }: StackSnapshot): void {
    const moves = this.#reports[0]?.step.moves;
    const moved = Array.from(this.#deleted, (address) => movedAddress(address, moves));
    for (const address of moved) this.#deleted.add(address);
    for (const object of objects.values()) {
      if (object.deposed === "") {
        if (!isPlaceholder(object)) this.#deleted.delete(object.address);
        continue;
      }
      const current = objects.get(object.address);
      const isEmpty = current === undefined || isPlaceholder(current);
      if (isEmpty && !this.#deleted.has(object.address)) {
        this.#fail(16, `${object.address} has only the object that its replacement deposed`);
      }
    }
  }

  /** Rules 17 and 18. */
  #checkIdentities(report: RunReport, now: ReadonlyMap<string, Rest>): void {
    const { step, outcome, keptUntil } = report;
    if (this.#before === undefined || step.destroy || keptUntil !== undefined) return;
    const { replace = [], refreshOnly } = step.ways ?? {};
    const expected = expectedObjects(step.config);
    for (const { object, facts, isThere } of this.#before.values()) {
      if (!isThere) continue;
      const address = movedAddress(object.address, step.moves);
      const wanted = expected.get(address);
      // Until a plan with the move is applied it is where it was.
      const after = now.get(address) ?? now.get(object.address);
      if (wanted === undefined || object.phase !== "ready" || object.deposed !== "") continue;
      if (this.#removed.has(cloudKey(object.type, facts.id))) continue;
      const isSame = after?.facts.id === facts.id;
      if (replace.includes(address)) {
        const isDone = outcome === "applied" || outcome === "empty";
        if (isSame && isDone && !this.#wasOpen) this.#fail(18, `${address} was not replaced`);
        continue;
      }
      const stays =
        refreshOnly === true || (wanted.name === facts.name && wanted.kind === facts.kind);
      if (stays && !isSame) {
        this.#fail(17, `${address} was ${facts.id} and is ${after?.facts.id ?? "nothing"}`);
      }
    }
  }

  /** Rule 20. */
  #checkEnd({ outcome, step, keptUntil, plan, isCasualty }: RunReport): void {
    const { cloud, cancelMs, store, ways = {} } = step;
    const isCalm =
      store.crash === undefined && store.freeze === undefined && store.lost === 0 && !isCasualty;
    const isAlone = cancelMs === undefined && ways.rival === undefined && !this.#wasOpen;
    const isFresh = keptUntil === undefined || keptUntil === plan?.revision;
    // Without a refresh a plan may be about objects that are gone.
    const isRight = Object.keys(cloud).length === 0 && ways.unread === undefined && isFresh;
    if (!isCalm || !isAlone || !isRight) return;
    if (["applied", "empty", "kept"].includes(outcome)) return;
    this.#fail(20, `a run without faults ended as ${outcome}`);
  }

  /** Rules 12 and 19. */
  #checkWhole(
    { step, outcome }: RunReport,
    { outputs }: StackSnapshot,
    now: ReadonlyMap<string, Rest>,
  ): void {
    const expected = step.destroy ? new Map() : expectedObjects(step.config);
    // A plan without changes is not applied: what is only to be recorded waits for the next one.
    const waits = outcome === "empty";
    for (const { object, isThere } of now.values()) {
      if (waits && !isThere) continue;
      if (!expected.has(object.address) || object.deposed !== "") {
        this.#fail(12, `${object.address} ${object.deposed} is left after a whole apply`);
      }
    }
    const ids = new Map([...now].map(([address, { facts }]) => [address, facts.id]));
    for (const wanted of step.destroy ? [] : expectedObjects(step.config).values()) {
      const found = now.get(wanted.address);
      if (found === undefined) {
        this.#fail(12, `${wanted.address} is missing after a whole apply`);
        continue;
      }
      const { object, facts } = found;
      if (object.phase !== "ready") this.#fail(12, `${wanted.address} is ${object.phase}`);
      const links = wanted.links.map((address) => ids.get(address));
      const text = JSON.stringify([facts.name, facts.kind, facts.size, facts.links]);
      const hoped = JSON.stringify([wanted.name, wanted.kind, wanted.size, links]);
      if (text !== hoped) this.#fail(12, `${wanted.address} is ${text} instead of ${hoped}`);
      const real = this.#cloud.object(object.type, facts.id);
      if (real !== undefined && JSON.stringify(factsOfCloud(real)) !== JSON.stringify(facts)) {
        this.#fail(12, `${wanted.address} is not recorded as it is`);
      }
      const recorded = new Set(object.dependencies.map(({ address }) => resourceOf(address)));
      const closure = withNeeds(step.config, [wanted.resource]);
      if (waits) continue;
      const isMissing = wanted.needs.difference(recorded).size > 0;
      // What ephemeral resources are made from is not among the needs of the configuration.
      const isMore = step.leases === undefined && recorded.difference(closure).size > 0;
      if (isMissing || isMore) {
        const given = [[...recorded].join(), [...wanted.needs].join()];
        this.#fail(12, `${wanted.address} depends by record on ${given[0]}, and needs ${given[1]}`);
      }
    }
    const texts = step.destroy
      ? []
      : step.config.flatMap(({ name, repeat, secret, size }) =>
          repeat === undefined ? [[name, JSON.stringify(secret ? CANARY : size)] as const] : [],
        );
    const published = [...outputs].map(([name, { json }]) => [name, json] as const);
    if (JSON.stringify(published.toSorted(byName)) !== JSON.stringify(texts.toSorted(byName))) {
      this.#fail(19, `the outputs are ${JSON.stringify(published)}`);
    }
  }
}

const byName = ([one]: readonly [string, string], [other]: readonly [string, string]): number =>
  one < other ? -1 : 1;

/** Whether everything of the configuration was planned from what was just read, and applied without another process. */
function isWhole({ outcome, step, keptUntil }: RunReport): boolean {
  const { ways = {} } = step;
  const isPart = ways.targets ?? ways.excludes ?? ways.refreshOnly ?? ways.unread ?? ways.rival;
  return (outcome === "applied" || outcome === "empty") && !isPart && keptUntil === undefined;
}

/** Whether what providers answered was recorded, whatever they answered. */
function isSteady({ isCasualty, step: { store, cancelMs } }: RunReport): boolean {
  const isDisturbed =
    store.crash !== undefined || store.freeze !== undefined || store.lost > 0 || isCasualty;
  return !isDisturbed && cancelMs?.[1] === undefined;
}

function isPlanned(
  plan: Plan | undefined,
  method: CloudCall["method"],
  { address, deposed }: ObjectKey,
): boolean {
  const own = plan?.changes.filter((change) => change.address === address) ?? [];
  return own.some((change) => {
    // The object that a replacement deposes gets its key while the plan is applied.
    if (change.action === "replace") return method !== "update";
    return change.deposed === deposed && change.action === method;
  });
}

function factsOfCloud({ value }: CloudObject): Facts {
  const found = new Map(value.entries());
  const text = (name: string): string => found.get(name)?.asString() ?? "";
  const number = (name: string): number => found.get(name)?.asNumber() ?? 0;
  const links = found.get("links");
  return {
    id: text("id"),
    name: text("name"),
    kind: text("kind"),
    size: number("size"),
    serial: number("serial"),
    links: links === undefined || links.isNull ? [] : links.elements().map((one) => one.asString()),
  };
}

function movedAddress(address: string, moves: readonly SimMove[] = []): string {
  const resource = resourceOf(address);
  return `${movedResource(address, moves)}${address.slice(resource.length)}`;
}

/** The resource that objects of an address belong to after all moves. */
function movedResource(address: string, moves: readonly SimMove[] = []): string {
  let resource = resourceOf(address);
  for (const { from, to } of moves) if (resource === from) resource = to;
  return resource;
}
