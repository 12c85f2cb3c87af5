import type { NotificationEvent } from "@stackwright/proto/stackwright";
import type { Resource, ResourceId } from "@stackwright/storage";
import type { ProjectReference } from "../domain/notification-places.ts";
import type { Mirror } from "../queue/mirror-kind.ts";

/** A destination with events that wait for it. */
export interface Lane {
  readonly key: string;
  readonly project: ProjectReference;
  readonly destination: string;
}

interface Queue {
  readonly lane: Lane;
  /** When each event is sent, by its name, which is a ULID. */
  readonly waits: Map<string, number>;
  /** The same of mails that wait for some recipients alone, which hold up none behind them. */
  readonly partial: Map<string, number>;
  /** The oldest event that waits; empty without one. */
  head: string;
}

/** For which destinations events wait, and until when the oldest of each: what is left of the events is their names. */
export class WaitingLanes implements Mirror {
  readonly #decode: (resource: Resource) => NotificationEvent | undefined;
  readonly #queues = new Map<string, Queue>();
  /** The lanes of each event. */
  readonly #lanes = new Map<string, readonly string[]>();

  /** `decode` gives nothing for an event that cannot be read. */
  constructor(decode: (resource: Resource) => NotificationEvent | undefined) {
    this.#decode = decode;
  }

  /** Each destination with the time of its oldest event. */
  *heads(): Generator<{ readonly lane: Lane; readonly dueMs: number }> {
    for (const { lane, waits, partial, head } of this.#queues.values()) {
      const dueMs = head === "" ? Number.POSITIVE_INFINITY : (waits.get(head) ?? 0);
      yield { lane, dueMs: Math.min(dueMs, ...partial.values()) };
    }
  }

  has(key: string): boolean {
    return this.#queues.has(key);
  }

  set(resource: Resource): void {
    const { name, tenancy } = resource.id;
    const waits = this.#decode(resource)?.waits ?? [];
    const project = { account: tenancy.partition, project: tenancy.namespace };
    const lanes = waits.map(({ destination, nextAtMs, recipients }) => {
      const key = [project.account, project.project, destination].join("\0");
      let queue = this.#queues.get(key);
      if (queue === undefined) {
        queue = {
          lane: { key, project, destination },
          waits: new Map(),
          partial: new Map(),
          head: "",
        };
        this.#queues.set(key, queue);
      }
      const isPartial = recipients.length > 0;
      (isPartial ? queue.partial : queue.waits).set(name, Number(nextAtMs));
      (isPartial ? queue.waits : queue.partial).delete(name);
      if (isPartial && queue.head === name) queue.head = oldest(queue.waits.keys());
      if (!isPartial && (queue.head === "" || name < queue.head)) queue.head = name;
      return key;
    });
    this.#forget(resource.id, lanes);
    if (lanes.length > 0) this.#lanes.set(keyOf(resource.id), lanes);
  }

  delete({ id }: Resource): void {
    this.#forget(id, []);
  }

  /** Takes an event from its lanes but for those where it still waits. */
  #forget(id: ResourceId, kept: readonly string[]): void {
    for (const key of this.#lanes.get(keyOf(id)) ?? []) {
      if (kept.includes(key)) continue;
      const queue = this.#queues.get(key);
      if (queue === undefined) continue;
      const isGone = queue.waits.delete(id.name);
      if (!queue.partial.delete(id.name) && !isGone) continue;
      if (queue.waits.size + queue.partial.size === 0) this.#queues.delete(key);
      else if (queue.head === id.name) queue.head = oldest(queue.waits.keys());
    }
    this.#lanes.delete(keyOf(id));
  }
}

/** Empty of none. Bounded by the events that may wait for a destination. */
function oldest(names: Iterable<string>): string {
  return Array.from(names).reduce((one, other) => (one === "" || other < one ? other : one), "");
}

function keyOf({ tenancy, name }: ResourceId): string {
  return [tenancy.partition, tenancy.namespace, name].join("\0");
}
