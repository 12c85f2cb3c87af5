import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { HandlerRegistration } from "@stackwright/krt";
import type { DueProviderChange } from "../live/due-provider-changes.ts";
import type { LiveView } from "../live/live-view.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import { type ConfirmingParts, confirmChange } from "./confirm-change.ts";
import { noteProviderChange } from "./note-provider-change.ts";

/** Stacks that are looked at at once. */
const AT_ONCE = 8;
/** What failed, or was not yet so, is tried again after this time. */
const AGAIN_MS = 60_000;

type ReactorParts = TransactionParts & {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly live: Pick<LiveView, "providerReactions" | "dueProviderChanges">;
} & ConfirmingParts;

/**
 * Takes note of changes of providers for the stacks that react to them, in the moment in which they happen. Any number of servers do so at the
 * same time: which of them was first is decided by the store. Where no stack reacts, the objects of the stacks are not read for it.
 */
export class ProviderReactor implements AsyncDisposable {
  readonly #parts: ReactorParts;
  readonly #reactions: HandlerRegistration;
  readonly #due = new Map<string, DueProviderChange>();
  readonly #working = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #changes: HandlerRegistration | undefined;
  #again: Promise<void> | undefined;

  constructor(parts: ReactorParts) {
    this.#parts = parts;
    this.#reactions = parts.live.providerReactions.subscribe((event) => {
      if (event.type !== "delete") this.#follow();
    });
  }

  /** Begins with the first stack that reacts. */
  #follow(): void {
    if (this.#changes !== undefined || this.#closing.signal.aborted) return;
    const { live } = this.#parts;
    this.#changes = live.dueProviderChanges.subscribe((event) => {
      if (event.type === "delete") {
        this.#due.delete(event.key);
        return;
      }
      this.#due.set(event.key, event.new);
      this.#begin();
    });
    this.#again = this.#repeat();
  }

  async #repeat(): Promise<void> {
    const { clock, live } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await sleep(clock, AGAIN_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      for (const due of live.dueProviderChanges.list()) this.#due.set(due.key, due);
      this.#begin();
    }
  }

  /** Begins as many as there are places for; each that ends gives its place to the next. */
  #begin(): void {
    for (const [key, due] of this.#due) {
      if (this.#closing.signal.aborted || this.#working.size >= AT_ONCE) return;
      this.#due.delete(key);
      const work = this.#note(due).finally(() => {
        this.#working.delete(work);
        this.#begin();
      });
      this.#working.add(work);
    }
  }

  async #note(due: DueProviderChange): Promise<void> {
    try {
      if (await confirmChange(this.#parts, due)) await noteProviderChange(this.#parts, due);
    } catch (error) {
      const { stack, source } = due;
      const { logger } = this.#parts;
      logger.warn({ stack: stack.id, source, err: error }, "a change of a provider is noted later");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#reactions.unsubscribe();
    this.#changes?.unsubscribe();
    await Promise.all([...this.#working, this.#again]);
  }
}
