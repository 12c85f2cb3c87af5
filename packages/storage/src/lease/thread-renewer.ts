import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { StorageError } from "../errors.ts";
import type { RenewalTask } from "./renewal.ts";
import type { RenewalHandle, Renewer } from "./renewer.ts";
import {
  ALIVE_AT,
  ALIVE_BYTES,
  IS_UP,
  LEASE_BYTES,
  RENEWED_AT,
  STAGE,
  Stage,
  type StorageModuleReference,
  type ThreadData,
  type ThreadMessage,
  type ThreadRequest,
} from "./thread-protocol.ts";

export type { StorageModuleReference } from "./thread-protocol.ts";

/** Options of {@link createThreadRenewer}. */
export interface ThreadRenewerOptions {
  /** How the thread opens the store for itself. */
  readonly source: StorageModuleReference;
  /**
   * The thread gives the leases up when the thread that made it has not run for this long: turns may
   * be long, but a worker that is stuck must not block a stack for ever.
   *
   * @default 120,000
   */
  readonly maxSilenceMs?: number;
  /**
   * How long the first lease is held before the thread starts: one that is given back before needs none. Turns of the thread that made
   * the lease count against it until then, so that this is a small part of the time to live.
   *
   * @default 0
   */
  readonly startDelayMs?: number;
}

interface Tracked {
  readonly onLost: (error: StorageError) => void;
  readonly shared: BigInt64Array<SharedArrayBuffer>;
  readonly task: RenewalTask;
  stopped: (() => void) | undefined;
}

/**
 * Renews in a thread of its own with its own connection to the store: for stores that other
 * processes can reach. One thread serves all leases of a worker; it starts with the first one, or when that has been held for
 * some time.
 */
export function createThreadRenewer(options: ThreadRenewerOptions): Renewer {
  return new ThreadRenewer(options, systemClock);
}

class ThreadRenewer implements Renewer {
  readonly #options: ThreadRenewerOptions;
  readonly #maxSilenceMs: number;
  readonly #alive = new BigInt64Array(new SharedArrayBuffer(ALIVE_BYTES));
  readonly #tracked = new Map<number, Tracked>();
  readonly #clock: Clock;
  readonly #pulse: NodeJS.Timeout;
  #worker: Worker | undefined;
  #starting: Disposable | undefined;
  #ids = 0;
  #failure: Error | undefined;
  #closing: Promise<void> | undefined;
  #closed: (() => void) | undefined;

  constructor(options: ThreadRenewerOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#maxSilenceMs = options.maxSilenceMs ?? 120_000;
    this.#beat();
    this.#pulse = setInterval(() => this.#beat(), this.#maxSilenceMs / 20);
    this.#pulse.unref();
  }

  start(task: RenewalTask, onLost: (error: StorageError) => void): RenewalHandle {
    this.#ids += 1;
    const id = this.#ids;
    const shared = new BigInt64Array(new SharedArrayBuffer(LEASE_BYTES));
    Atomics.store(shared, RENEWED_AT, BigInt(Math.floor(task.acquiredAt * 1_000)));
    const tracked = { onLost, shared, task, stopped: undefined };
    this.#tracked.set(id, tracked);
    if (this.#worker !== undefined) this.#sendStart(id, tracked);
    else if (this.#closing === undefined) this.#startSoon();
    else this.#failure ??= new Error("the renewer is closed");
    if (this.#failure !== undefined) this.#loseAll(this.#failure);
    return {
      renewedAt: () => Number(Atomics.load(shared, RENEWED_AT)) / 1_000,
      stop: () => this.#stop(id),
    };
  }

  #startSoon(): void {
    const delayMs = this.#options.startDelayMs ?? 0;
    if (delayMs === 0) this.#startThread();
    else this.#starting ??= this.#clock.after(delayMs, () => this.#startOrFail());
  }

  /** The system may refuse a thread: then holders are notified, as there is no caller who would be. */
  #startOrFail(): void {
    try {
      this.#startThread();
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #startThread(): void {
    this.#starting = undefined;
    this.#beat();
    const data: ThreadData = {
      source: this.#options.source,
      alive: this.#alive.buffer,
      maxSilenceMs: this.#maxSilenceMs,
    };
    const entry = new URL(`./renewal-thread${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(entry, { workerData: data, name: "stackwright-renewal" });
    worker.on("message", (message: ThreadMessage) => this.#receive(message));
    worker.on("error", (error) => this.#fail(error));
    worker.on("exit", () => this.#fail(new Error("the renewal thread ended")));
    this.#worker = worker;
    for (const [id, tracked] of this.#tracked) this.#sendStart(id, tracked);
  }

  #sendStart(id: number, { task, shared }: Tracked): void {
    this.#send({ kind: "start", id, task, shared: shared.buffer });
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    clearInterval(this.#pulse);
    this.#startNever();
    for (const tracked of this.#tracked.values()) retire(tracked);
    const worker = this.#worker;
    if (worker === undefined || this.#failure !== undefined) return;
    // One that is still being loaded has no connection that it could close.
    if (Atomics.load(this.#alive, IS_UP) !== 0n) {
      await new Promise<void>((resolve) => {
        this.#closed = resolve;
        this.#send({ kind: "close" });
      });
    }
    worker.removeAllListeners();
    worker.on("error", () => undefined);
    await worker.terminate();
  }

  #stop(id: number): Promise<void> {
    const tracked = this.#tracked.get(id);
    if (tracked === undefined || this.#failure !== undefined) return Promise.resolve();
    if (retire(tracked)) {
      this.#tracked.delete(id);
      if (this.#tracked.size === 0) this.#startNever();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      tracked.stopped = resolve;
      this.#send({ kind: "stop", id });
    });
  }

  /** Until the next lease. */
  #startNever(): void {
    this.#starting?.[Symbol.dispose]();
    this.#starting = undefined;
  }

  #receive(message: ThreadMessage): void {
    if (message.kind === "closed") {
      this.#closed?.();
      return;
    }
    const tracked = this.#tracked.get(message.id);
    this.#tracked.delete(message.id);
    if (tracked === undefined) return;
    if (message.kind === "lost" && tracked.stopped === undefined) {
      const details = { lost: message.lost };
      tracked.onLost(new StorageError("STORAGE_LEASE_LOST", message.message, { details }));
    }
    tracked.stopped?.();
  }

  /** Nothing is renewed any more: holders stop at once rather than at their deadline. */
  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    clearInterval(this.#pulse);
    this.#loseAll(error);
    this.#closed?.();
  }

  #loseAll(cause: Error): void {
    for (const { onLost, stopped } of this.#tracked.values()) {
      if (stopped === undefined) {
        const message = `the lease can no longer be renewed: ${cause.message}`;
        onLost(
          new StorageError("STORAGE_LEASE_LOST", message, { cause, details: { lost: "refused" } }),
        );
      }
      stopped?.();
    }
    this.#tracked.clear();
  }

  #send(request: ThreadRequest): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker?.postMessage(request);
  }

  #beat(): void {
    const now = BigInt(Math.floor(this.#clock.monotonicMs() * 1_000));
    Atomics.store(this.#alive, ALIVE_AT, now);
  }
}

/** Keeps the thread from ever renewing a lease; false where it has begun. */
function retire({ shared }: Tracked): boolean {
  return Atomics.compareExchange(shared, STAGE, Stage.waiting, Stage.ended) !== Stage.begun;
}
