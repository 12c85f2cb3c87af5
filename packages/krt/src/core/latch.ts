import type { WaitOptions } from "../collection.ts";

interface Waiter {
  resolve(): void;
  reject(reason: unknown): void;
}

/** A one-way condition that can be awaited: opens once, or fails once. */
export class Latch {
  #state: "closed" | "open" | "failed" = "closed";
  #reason: unknown;
  #waiters: Set<Waiter> | undefined;

  get isOpen(): boolean {
    return this.#state === "open";
  }

  open(): void {
    if (this.#state !== "closed") return;
    this.#state = "open";
    this.#settle((waiter) => waiter.resolve());
  }

  fail(reason: unknown): void {
    if (this.#state !== "closed") return;
    this.#state = "failed";
    this.#reason = reason;
    this.#settle((waiter) => waiter.reject(reason));
  }

  wait({ signal }: WaitOptions = {}): Promise<void> {
    if (this.#state === "open") return Promise.resolve();
    if (this.#state === "failed") return Promise.reject(this.#reason);
    if (signal === undefined) return new Promise((resolve, reject) => this.#add(resolve, reject));
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#waiters?.delete(waiter);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", abort, { once: true });
      const waiter = this.#add(
        () => {
          signal.removeEventListener("abort", abort);
          resolve();
        },
        (reason) => {
          signal.removeEventListener("abort", abort);
          reject(reason);
        },
      );
    });
  }

  #add(resolve: () => void, reject: (reason: unknown) => void): Waiter {
    const waiter = { resolve, reject };
    this.#waiters ??= new Set();
    this.#waiters.add(waiter);
    return waiter;
  }

  #settle(settle: (waiter: Waiter) => void): void {
    const waiters = this.#waiters;
    this.#waiters = undefined;
    if (waiters !== undefined) for (const waiter of waiters) settle(waiter);
  }
}
