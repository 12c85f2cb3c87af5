import type { Logger } from "@stackwright/base/logger";
import type { Collection, HandlerRegistration } from "@stackwright/krt";
import type { Place } from "../domain/run-places.ts";
import type { DueTrigger } from "../live/due-triggers.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import { fireTrigger } from "./fire-triggers.ts";

/** Triggers that are looked at at once. */
const AT_ONCE = 8;

/**
 * Requests the run of a trigger in the moment in which the outputs that it follows have changed. Any number of servers do so at the
 * same time: which of them was first is decided by the store. What fails is left to the sweep.
 */
export class TriggerReaction implements AsyncDisposable {
  readonly #parts: TransactionParts & { readonly logger: Logger };
  readonly #registration: HandlerRegistration;
  /** One entry for each trigger, however often its producer changes meanwhile. */
  readonly #due = new Map<string, Place>();
  readonly #working = new Set<Promise<void>>();
  #isClosed = false;

  constructor(
    parts: TransactionParts & { readonly logger: Logger },
    dueTriggers: Collection<DueTrigger>,
  ) {
    this.#parts = parts;
    this.#registration = dueTriggers.subscribe((event) => {
      if (event.type === "delete") return;
      this.#due.set(event.key, event.new);
      this.#begin();
    });
  }

  /** Begins as many as there are places for; each that ends gives its place to the next, so that a slow one keeps none waiting but itself. */
  #begin(): void {
    for (const [key, place] of this.#due) {
      if (this.#isClosed || this.#working.size >= AT_ONCE) return;
      this.#due.delete(key);
      const work = this.#fire(place).finally(() => {
        this.#working.delete(work);
        this.#begin();
      });
      this.#working.add(work);
    }
  }

  async #fire({ tenancy, name }: Place): Promise<void> {
    try {
      await fireTrigger(this.#parts, { tenancy, name });
    } catch (error) {
      this.#parts.logger.warn({ trigger: name, err: error }, "a trigger is left to the sweep");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#registration.unsubscribe();
    await Promise.all(this.#working);
  }
}
