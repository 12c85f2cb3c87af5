import type { Value } from "@stackwright/cty";

/** An object that really exists in a {@link ModelCloud}. */
export interface CloudObject {
  readonly type: string;
  readonly id: string;
  /** All attributes, as a provider reads them. */
  readonly value: Value;
  /** The operation that made it; empty when something else than an engine did. */
  readonly createdBy: string;
}

/** One call of a provider, as the cloud saw it. */
export interface CloudCall {
  readonly method:
    | "create"
    | "update"
    | "delete"
    | "read"
    | "import"
    | "readData"
    | "open"
    | "renew"
    | "close";
  readonly type: string;
  /** Real id; empty for a create that made nothing. */
  readonly id: string;
  readonly operationId: string;
  readonly epoch: bigint;
  readonly startedAt: number;
  /** Absent while it runs, and for ever when its caller died first. */
  endedAt?: number;
  /** Place among the starts and ends of all calls. */
  readonly startOrder: number;
  endOrder?: number;
  /** What went wrong with it. */
  fault?: CloudFault;
  /** Whether the cloud changed. */
  applied: boolean;
}

/**
 * What goes wrong with one call.
 *
 * - `refuse`: an error diagnostic, nothing done.
 * - `partial`: done, but reported as an error together with what exists.
 * - `lost`: done, and the answer never comes back.
 * - `unreachable`: not done, and the caller cannot tell.
 * - `ghost` (create): done, and reported as an error as if nothing existed. Only providers that are not clean do this.
 */
export type CloudFault = "refuse" | "partial" | "lost" | "unreachable" | "ghost";

/** How the cloud behaves; all by chance of whoever gives it. */
export interface CloudBehaviour {
  /** Time that a call takes, before and after the cloud changes. */
  readonly delayMs: (method: CloudCall["method"]) => number;
  readonly fault: (method: CloudCall["method"], type: string) => CloudFault | undefined;
  /** Whether a call takes place although its caller dies before the answer. */
  readonly survives: () => boolean;
  /** A new id for objects whose id nobody can foretell. */
  readonly newId: (type: string) => string;
}

/** A cloud without faults or delays, with ids that are counted. */
export function calmCloud(): CloudBehaviour {
  let count = 0;
  return {
    delayMs: () => 0,
    fault: () => undefined,
    survives: () => false,
    newId: (type) => {
      count += 1;
      return `${type}-${count}`;
    },
  };
}

/** What a provider of the cloud rejects with when there is no answer. */
export class CloudError extends Error {
  override readonly name = "CloudError";
}

/**
 * The world behind a model provider: what exists, and every call in order. It outlives the processes that use it, so
 * that a test can compare what was recorded with what is there.
 */
export class ModelCloud {
  readonly #objects = new Map<string, CloudObject>();
  readonly calls: CloudCall[] = [];
  /** Objects that went although their provider reported a failure: whoever recorded them may still do so. */
  readonly misreported = new Set<string>();
  behaviour: CloudBehaviour;
  #order = 0;

  constructor(behaviour: CloudBehaviour = calmCloud()) {
    this.behaviour = behaviour;
  }

  get objects(): ReadonlyMap<string, CloudObject> {
    return this.#objects;
  }

  object(type: string, id: string): CloudObject | undefined {
    return this.#objects.get(cloudKey(type, id));
  }

  put(object: CloudObject): void {
    this.#objects.set(cloudKey(object.type, object.id), object);
  }

  remove(type: string, id: string): boolean {
    return this.#objects.delete(cloudKey(type, id));
  }

  /** Notes the start of a call. */
  begin(call: Omit<CloudCall, "startOrder" | "applied">): CloudCall {
    this.#order += 1;
    const begun: CloudCall = { ...call, startOrder: this.#order, applied: false };
    this.calls.push(begun);
    return begun;
  }

  /** Notes the end of a call. */
  end(call: CloudCall, now: number): void {
    this.#order += 1;
    call.endedAt = now;
    call.endOrder = this.#order;
  }
}

/** Key of an object among all of a cloud. */
export function cloudKey(type: string, id: string): string {
  return `${type}/${id}`;
}
