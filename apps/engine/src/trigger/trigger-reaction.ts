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
  #work: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    parts: TransactionParts & { readonly logger: Logger },
    dueTriggers: Collection<DueTrigger>,
  ) {
    this.#parts = parts;
    this.#registration = dueTriggers.subscribe((event) => {
      if (event.type === "delete") return;
      this.#due.set(event.key, event.new);
      this.#work ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    while (this.#due.size > 0 && !this.#isClosed) {
      const batch = [...this.#due].slice(0, AT_ONCE);
      for (const [key] of batch) this.#due.delete(key);
      await Promise.all(batch.map(async ([, place]) => this.#fire(place)));
    }
    // In one step with the look at the table: what comes later begins anew.
    this.#work = undefined;
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
    await this.#work;
  }
}
