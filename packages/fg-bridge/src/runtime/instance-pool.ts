import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { FgBridgeError } from "../errors.ts";
import type { InstanceRequest, InstanceResponse, ResolvedFunction } from "./function-definition.ts";
import { type FunctionInstance, startInstance } from "./function-instance.ts";

interface Slot {
  readonly instance: Promise<FunctionInstance>;
  busy: number;
  idle?: Disposable;
}

/** What one invocation cost. */
interface Invoked {
  readonly response: InstanceResponse;
  readonly cold: boolean;
}

/**
 * The instances of one function: started when there is no free one, kept for a while, ended when idle, when they fail, or
 * when a request of theirs runs out of time.
 */
export class InstancePool implements AsyncDisposable {
  readonly #definition: ResolvedFunction;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #slots = new Set<Slot>();
  readonly #ending = new Set<Promise<void>>();
  /** Cold starts so far. */
  starts = 0;

  constructor(definition: ResolvedFunction, clock: Clock, logger: Logger) {
    this.#definition = definition;
    this.#clock = clock;
    this.#logger = logger;
  }

  get size(): number {
    return this.#slots.size;
  }

  /**
   * @throws FgBridgeError `FG_THROTTLED` with no instance free, `FG_PROVIDER_START_FAILED`, `FG_CONNECTION_LOST`,
   * `FG_TIMEOUT`; the reason of the signal
   */
  async invoke(request: InstanceRequest, signal: AbortSignal, timeoutMs: number): Promise<Invoked> {
    const { concurrency, maxInstances, urn } = this.#definition;
    const free = [...this.#slots].find(({ busy }) => busy < concurrency);
    if (free === undefined && this.#slots.size >= maxInstances) {
      throw new FgBridgeError("FG_THROTTLED", `all ${maxInstances} instances of ${urn} are busy`);
    }
    const slot = free ?? this.#open();
    slot.busy++;
    slot.idle?.[Symbol.dispose]();
    const late = new AbortController();
    using _timer = this.#clock.after(timeoutMs, () => {
      const text = `the invocation did not end within ${timeoutMs} ms`;
      late.abort(new FgBridgeError("FG_TIMEOUT", text));
    });
    try {
      const instance = await slot.instance;
      const both = AbortSignal.any([late.signal, signal]);
      both.throwIfAborted();
      const response = await instance.send(request, { signal: both });
      slot.busy--;
      this.#rest(slot, instance);
      return { response, cold: free === undefined };
    } catch (error) {
      slot.busy--;
      // The platform ends an instance with the request that failed in it.
      this.#end(slot);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const slot of this.#slots) this.#end(slot);
    await Promise.all(this.#ending);
  }

  #open(): Slot {
    this.starts++;
    const slot: Slot = {
      instance: startInstance(this.#definition, this.#clock, this.#logger),
      busy: 0,
    };
    this.#slots.add(slot);
    return slot;
  }

  #rest(slot: Slot, instance: FunctionInstance): void {
    if (!instance.isAlive) this.#end(slot);
    else if (slot.busy === 0 && this.#slots.has(slot)) {
      slot.idle = this.#clock.after(this.#definition.idleMs, () => this.#end(slot));
    }
  }

  #end(slot: Slot): void {
    if (!this.#slots.delete(slot)) return;
    slot.idle?.[Symbol.dispose]();
    const ending = slot.instance
      .then((instance) => instance[Symbol.asyncDispose]())
      .catch(() => undefined);
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }
}
