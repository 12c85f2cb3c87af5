import {
  isClientError,
  type ServerClient,
  type StackStatus,
  type StackStatusChange,
} from "@stackwright/client";
import type { ToTab } from "./watch-messages.ts";

/** One tab that listens. */
export interface Listener {
  send(message: ToTab): void;
}

/** Follows the stacks until the signal aborts; tells how the stream is. */
type Follow = (
  tell: (message: Extract<ToTab, { readonly type: "stream" | "refused" }>) => void,
  signal: AbortSignal,
) => ReturnType<ServerClient["watchStacks"]>;

/**
 * One stream for any number of tabs: it is open while somebody listens. Who comes later gets what is known at once, then each change, as
 * the first one does.
 */
export class WatchHub {
  readonly #follow: Follow;
  readonly #listeners = new Set<Listener>();
  readonly #stacks = new Map<string, StackStatus>();
  #isLoaded = false;
  #state: "live" | "reconnecting" = "reconnecting";
  #current: AbortController | undefined;

  constructor(follow: Follow) {
    this.#follow = follow;
  }

  /** Listeners at the moment. */
  get size(): number {
    return this.#listeners.size;
  }

  add(listener: Listener): void {
    if (this.#listeners.has(listener)) return;
    this.#listeners.add(listener);
    if (this.#current === undefined) {
      this.#begin();
      return;
    }
    listener.send({ type: "stream", state: this.#state });
    if (this.#isLoaded) listener.send({ type: "change", change: this.#snapshot() });
  }

  remove(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#current?.abort();
    this.#current = undefined;
  }

  #snapshot(): StackStatusChange {
    return { topic: "stacks", type: "snapshot", set: [...this.#stacks.values()], delete: [] };
  }

  #begin(): void {
    const own = new AbortController();
    this.#current = own;
    // What was known before is as old as the last listener.
    this.#isLoaded = false;
    this.#stacks.clear();
    void this.#run(own);
  }

  async #run(own: AbortController): Promise<void> {
    const tell = (message: ToTab): void => {
      if (own.signal.aborted) return;
      if (message.type === "stream") this.#state = message.state;
      for (const listener of this.#listeners) listener.send(message);
    };
    try {
      for await (const change of this.#follow(tell, own.signal)) {
        if (own.signal.aborted) return;
        if (change.type === "snapshot") this.#stacks.clear();
        for (const status of change.set) this.#stacks.set(status.id, status);
        for (const id of change.delete) this.#stacks.delete(id);
        this.#isLoaded = true;
        tell({ type: "change", change });
      }
    } catch (error) {
      const { code, status, problem } = isClientError(error) ? error : {};
      const message = error instanceof Error ? error.message : String(error);
      tell({ type: "failed", message, code, status, problem });
      // Who listens from now on begins another one.
      if (this.#current === own) {
        this.#current = undefined;
        this.#listeners.clear();
      }
    }
  }
}
