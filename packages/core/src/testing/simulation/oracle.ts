import {
  StateObject as ObjectMessage,
  StateObject_Phase as Phase,
} from "@stackwright/proto/stackwright";
import { resourceOf } from "../../state/check-state.ts";
import type { StackSnapshot } from "../../state/stack-state.ts";
import type { ObjectKey } from "../../state/state-object.ts";
import type { CloudCall, ModelCloud } from "../model/model-cloud.ts";
import { type ModelLeases, TOKEN_CANARY } from "../model/model-leases.ts";
import { CANARY } from "./sim-config.ts";
import type { AppliedWrite, SimStore } from "./sim-store.ts";

/** Limits that every run of a simulation is given. */
export interface SimLimits {
  readonly parallelism: number;
  readonly perType: number;
}

const PENDING: ReadonlySet<number> = new Set([
  Phase.PHASE_CREATING,
  Phase.PHASE_UPDATING,
  Phase.PHASE_DELETING,
]);

/**
 * Watches a simulation from outside: what is stored, what is called, what leaves. It knows nothing of how the engine
 * works, only what has to hold. Each violation is one sentence.
 *
 * 1. Every stored object is well-formed, and the whole state is at rest (checked by the engine's own rules on reading).
 * 2. What exists is recorded, or an unresolved operation says that it may exist; what is recorded exists.
 * 3. A plan after a successful apply is empty (checked by the driver).
 * 4. What is stored equals the replay of the writes that took place.
 * 5. Equal seeds make equal runs: {@link Oracle.trace}.
 * 6. The canary is in nothing that is written or told, and no ephemeral value in a plan either.
 * 7. A call begins after its intent is durable, after what it needs is done, and before what it takes away is needed.
 * 8. No more calls at the same time than allowed.
 * 9. Nothing is written under another epoch than the fence's, and no call begins under an older one.
 * 10. What was opened is closed once in every run that ends, is not renewed any more then, and is told only while it is open.
 */
export class Oracle {
  readonly violations: string[] = [];
  /** Every write and every start and end of a call, in order. */
  readonly trace: string[] = [];
  /** What operations were announced for, by their ids. */
  readonly intents = new Map<string, ObjectKey>();
  readonly #store: SimStore;
  readonly #cloud: ModelCloud;
  readonly #limits: SimLimits;
  /** Objects by the name of their resource, from the log. */
  readonly #objects = new Map<string, ObjectMessage>();
  readonly #replayed = new Map<string, AppliedWrite>();
  /** What an object needed before its update was announced, by address. */
  readonly #needs = new Map<string, ObjectMessage["dependencies"]>();
  /** What was being changed when an update began, by operation. */
  readonly #busy = new Map<
    string,
    { readonly call: CloudCall; readonly busy: readonly string[]; readonly owner: string }
  >();
  #seen = 0;
  /** Calls that change something and are under way, by process. */
  readonly #running = new Map<CloudCall, string>();

  constructor(store: SimStore, cloud: ModelCloud, limits: SimLimits) {
    this.#store = store;
    this.#cloud = cloud;
    this.#limits = limits;
  }

  /** Takes up what was written since the last time. */
  follow(): void {
    const { log } = this.#store;
    for (; this.#seen < log.length; this.#seen += 1) {
      const write = log[this.#seen];
      if (write !== undefined) this.#take(write);
    }
  }

  /** A call begins. */
  begin(call: CloudCall, process: string): void {
    this.follow();
    this.trace.push(`call ${call.method} ${call.type} ${call.id} ${call.operationId}`);
    if (call.method !== "create" && call.method !== "update" && call.method !== "delete") return;
    this.#running.set(call, process);
    this.#checkLimits(process);
    const { epoch } = this.#fence();
    if (call.epoch < epoch)
      this.#violate(9, `a call begins under epoch ${call.epoch}, the fence is at ${epoch}`);
    const object = [...this.#objects.values()].find(
      ({ operation }) => operation?.id === call.operationId,
    );
    if (object === undefined) {
      this.#violate(7, `${call.method} of ${call.type} begins without an intent in the store`);
      return;
    }
    this.intents.set(call.operationId, { address: object.address, deposed: object.deposed });
    this.#checkOrder(call, object, process);
  }

  /** A process has died: its calls are nobody's any more. */
  bury(process: string): void {
    for (const [call, owner] of this.#running) if (owner === process) this.#running.delete(call);
  }

  /** Something that the engine tells somebody. */
  told(text: string): void {
    this.planned(text);
    if (text.includes(CANARY)) this.#violate(6, `the canary is told: ${text.slice(0, 200)}`);
  }

  /** A plan, in which sensitive values may be, and ephemeral ones may not. */
  planned(plan: Uint8Array | string): void {
    if (holds(Buffer.from(plan), TOKEN_CANARY)) {
      this.#violate(6, `an ephemeral value is told: ${Buffer.from(plan).toString().slice(0, 200)}`);
    }
  }

  /** The run of a process has ended. */
  checkLeases({ all, misused }: ModelLeases, process: string): void {
    for (const { id, isKnown, closes, lateRenewals } of all) {
      if (closes > 1 || (isKnown && closes === 0)) {
        this.#violate(10, `${process} opened ${id} and closed it ${closes} times`);
      }
      if (lateRenewals > 0) this.#violate(10, `${process} renewed ${id}, which it had closed`);
    }
    for (const token of misused) this.#violate(10, `${process} told ${token}, which is not open`);
  }

  /** Compares what is stored now with the log. */
  async checkReplay(): Promise<void> {
    this.follow();
    await using snapshot = await this.#store.inner.snapshot();
    const left = new Map(this.#replayed);
    for await (const resource of snapshot) {
      const key = `${resource.id.type.kind}/${resource.id.name}`;
      const write = left.get(key);
      left.delete(key);
      const same = Buffer.compare(
        resource.data?.value ?? new Uint8Array(),
        write?.resource?.data?.value ?? new Uint8Array(),
      );
      if (write === undefined || same !== 0)
        this.#violate(4, `${key} is stored, and was not written so`);
    }
    for (const [key, write] of left) {
      if (write.resource !== undefined) this.#violate(4, `${key} was written, and is not stored`);
    }
  }

  /** Compares what is recorded, at rest, with what exists. */
  checkCloud({ objects }: StackSnapshot): void {
    const recorded = new Map<string, string>();
    const suspected = new Set<string>();
    const doubtful = new Set<string>();
    for (const object of objects.values()) {
      if (object.mode === "data") continue;
      const { operation, phase, value, address } = object;
      if (phase === "unresolved" && operation !== undefined) suspected.add(operation.id);
      if (value === undefined) continue;
      const id = (JSON.parse(value.json) as { id: string }).id;
      const key = `${object.type}/${id}`;
      if (recorded.has(key)) this.#violate(2, `${key} is recorded twice`);
      recorded.set(key, address);
      if (phase === "unresolved") doubtful.add(key);
    }
    for (const [key, { createdBy }] of this.#cloud.objects) {
      if (recorded.has(key) || suspected.has(createdBy)) continue;
      this.#violate(2, `${key} exists and nobody knows of it`);
    }
    for (const [key, address] of recorded) {
      const { misreported } = this.#cloud;
      if (!this.#cloud.objects.has(key) && !doubtful.has(key) && !misreported.has(key)) {
        this.#violate(2, `${address} is recorded as ${key}, which does not exist`);
      }
    }
  }

  fail(rule: number, text: string): void {
    this.#violate(rule, text);
  }

  #take(write: AppliedWrite): void {
    const { kind, name, resource, fence, process } = write;
    const key = `${kind}/${name}`;
    this.#replayed.set(key, write);
    const bytes = Buffer.from(resource?.data?.value ?? []);
    if (kind !== "Fence" && kind !== "Heartbeat" && kind !== "StackKeys") {
      this.trace.push(`write ${key} ${bytes.toString("base64")}`);
    }
    if (holds(bytes, CANARY)) this.#violate(6, `the canary is stored in ${key}`);
    if (holds(bytes, TOKEN_CANARY)) this.#violate(6, `an ephemeral value is stored in ${key}`);
    if (kind === "StateObject") {
      if (fence.owner !== process) {
        this.#violate(
          9,
          `${process} writes an object while ${fence.owner || "nobody"} holds the stack`,
        );
      }
      const message = resource && ObjectMessage.decode(bytes);
      if (message === undefined) this.#objects.delete(name);
      else {
        const operation = this.#objects.get(name)?.operation?.id;
        const settled = message.phase === Phase.PHASE_READY && message.operation === undefined;
        const update = operation === undefined ? undefined : this.#busy.get(operation);
        // An update that failed, or whose answer nobody got, says nothing of what it needed: it is recorded with all.
        const answered =
          update?.call.endOrder !== undefined &&
          update.call.fault === undefined &&
          update.owner === process;
        if (settled && answered) this.#checkNeeds(message, update.busy);
        const before = this.#objects.get(name);
        if (message.phase !== Phase.PHASE_UPDATING) this.#needs.delete(message.address);
        else if (before !== undefined) this.#needs.set(message.address, before.dependencies);
        this.#objects.set(name, message);
        if (message.epoch !== fence.epoch) {
          this.#violate(
            9,
            `${message.address} is written under ${message.epoch}, the fence is at ${fence.epoch}`,
          );
        }
      }
    }
    if (kind === "StackHead" && fence.owner !== process) {
      this.#violate(
        9,
        `${process} writes the head while ${fence.owner || "nobody"} holds the stack`,
      );
    }
  }

  #fence(): { readonly owner: string; readonly epoch: bigint } {
    return this.#store.log.at(-1)?.fence ?? { owner: "", epoch: 0n };
  }

  #checkLimits(process: string): void {
    const counts = new Map<string, number>();
    let all = 0;
    for (const [call, owner] of this.#running) {
      if (call.endOrder !== undefined) {
        this.#running.delete(call);
        continue;
      }
      if (owner !== process) continue;
      all += 1;
      counts.set(call.type, (counts.get(call.type) ?? 0) + 1);
    }
    if (all > this.#limits.parallelism) this.#violate(8, `${all} calls at the same time`);
    for (const [type, count] of counts) {
      if (count > this.#limits.perType)
        this.#violate(8, `${count} calls of ${type} at the same time`);
    }
  }

  #checkOrder(call: CloudCall, object: ObjectMessage, owner: string): void {
    const others = [...this.#objects.values()].filter(
      (other) => other !== object && other.deposed === "",
    );
    const isPending = (other: ObjectMessage): boolean =>
      PENDING.has(other.phase) && other.operation?.started === true;
    if (call.method !== "delete") {
      // What goes for good is no longer among what an expression sees.
      const goes = ({ phase, operation }: ObjectMessage): boolean =>
        phase === Phase.PHASE_DELETING && operation?.replace !== true;
      const busy = others
        .filter((other) => isPending(other) && !goes(other))
        .map(({ address }) => address);
      // What an update needs is recorded with its outcome; before, there is what the object needed so far.
      if (call.method === "create") this.#checkNeeds(object, busy);
      else this.#busy.set(call.operationId, { call, busy, owner });
      return;
    }
    // What is replaced may go before those let go of it who wait for nothing but the replacement.
    if (object.deposed !== "" || object.operation?.replace === true) return;
    for (const other of others) {
      const needs = this.#needs.get(other.address) ?? other.dependencies;
      if (!needs.some(({ address }) => matches(address, object.address))) continue;
      // What is created did not need the object before.
      if (isPending(other) && other.phase !== Phase.PHASE_CREATING)
        this.#violate(7, `${object.address} is deleted while ${other.address} changes`);
    }
    this.#checkLinks(object);
  }

  #checkNeeds({ address, dependencies }: ObjectMessage, busy: readonly string[]): void {
    for (const dependency of dependencies) {
      const found = busy.find((other) => matches(dependency.address, other));
      if (found !== undefined) this.#violate(7, `${address} is made while ${found} is`);
    }
  }

  /** Nothing that is deleted for good is linked to by something that is to be deleted as well. */
  #checkLinks(object: ObjectMessage): void {
    const id = idOf(object);
    if (id === undefined) return;
    for (const { value, type, id: other } of this.#cloud.objects.values()) {
      const links = value.entries();
      for (const [name, list] of links) {
        if (name !== "links" || list.isNull) continue;
        if (list.elements().some((link) => link.asString() === id)) {
          this.#violate(7, `${object.address} is deleted while ${type} ${other} still links to it`);
        }
      }
    }
  }

  #violate(rule: number, text: string): void {
    this.violations.push(`(${rule}) ${text}`);
  }
}

function holds(bytes: Buffer, canary: string): boolean {
  const encoded = Buffer.from(canary).toString("base64").slice(0, -4);
  return bytes.includes(canary) || bytes.includes(encoded);
}

function matches(dependency: string, address: string): boolean {
  return dependency === address || dependency === resourceOf(address);
}

function idOf({ value }: ObjectMessage): string | undefined {
  const place = value?.json?.place;
  if (place?.$case !== "inline") return undefined;
  const parsed = JSON.parse(Buffer.from(place.value).toString("utf8")) as { readonly id?: string };
  return parsed.id;
}
