import type { LifecycleProvider } from "@stackwright/mux/router";
import { TfpluginError } from "../errors.ts";
import { borrowPooledProvider } from "./lease-provider.ts";
import { formatPoolKey, type PoolKey } from "./pool-key.ts";
import {
  type PoolMember,
  type ProviderPoolOptions,
  type ResolvedPoolOptions,
  resolvePoolOptions,
} from "./pool-options.ts";
import { PoolSlots } from "./slots.ts";

/**
 * What a provider is wanted for. `apply`: it may change real objects, so that the process is this run's alone, before
 * and after. `read`: everything else.
 */
export type PoolUse = "read" | "apply";

export interface AcquireRequest {
  readonly key: PoolKey;
  /** The run that asks. Equal requests of one run share a process; those of two runs never do at the same time. */
  readonly run: string;
  readonly use: PoolUse;
  /** Starts a provider for the key, and configures it. */
  readonly start: (signal: AbortSignal) => Promise<PoolMember>;
  readonly signal?: AbortSignal;
}

/** A provider with one user until it is released. */
export interface PooledProviderHandle extends AsyncDisposable {
  /** A `stop` of it retires the process: it serves no other user afterwards. `close` releases the lease. */
  readonly provider: LifecycleProvider;
  /** The process is not to be used again, for example because its answers were strange. */
  retire(): void;
  /** Gives it back. Idempotent. */
  release(): Promise<void>;
}

export interface PoolStatistics {
  /** Leased by a run, or starting for one. */
  readonly leased: number;
  readonly idle: number;
  /** Requests that wait because the pool is full. */
  readonly waiting: number;
}

/*
 * A process is *starting*, *leased* (to one run, by one or more leases), *idle*, or *ending*. It holds one of the
 * pool's places from before its start until after its end, so that their number bounds the processes of the machine.
 *
 * Invariants. An idle process has served reads only, has not been stopped or retired, and has not ended. A process
 * that is leased for an apply has been used by no other run before, and ends with its last lease.
 */
interface Entry {
  readonly key: string;
  readonly ready: Promise<PoolMember>;
  /** Undefined while it is idle, or checked before it is used again. */
  run: string | undefined;
  leases: number;
  /** It has served another run before. */
  isUsed: boolean;
  hasApplied: boolean;
  isRetired: boolean;
  idle: Disposable | undefined;
}

/**
 * Keeps providers running between the requests that need them. Closing it ends them all.
 *
 * Source: operations model of the platform (isolation of tenants and runs).
 */
export class ProviderPool implements AsyncDisposable {
  readonly #options: ResolvedPoolOptions;
  readonly #slots: PoolSlots;
  readonly #entries = new Set<Entry>();
  readonly #ending = new Set<Promise<void>>();
  readonly #closed = new AbortController();

  constructor(options: ProviderPoolOptions = {}) {
    this.#options = resolvePoolOptions(options);
    const { maxProviders: places, maxWaiting, waitMs, clock } = this.#options;
    this.#slots = new PoolSlots({ places, maxWaiting, waitMs }, clock);
  }

  get statistics(): PoolStatistics {
    const idle = [...this.#entries].filter((entry) => entry.idle !== undefined).length;
    return { leased: this.#entries.size - idle, idle, waiting: this.#slots.waiting };
  }

  /**
   * A provider for the key: one that this run has already, one that is idle and well, or a new one. Rejects with the
   * signal's reason, with what `start` rejects with, `TFPLUGIN_POOL_FULL` or `TFPLUGIN_CLOSED`.
   */
  async acquire(request: AcquireRequest): Promise<PooledProviderHandle> {
    const signal = this.#signalOf(request);
    signal.throwIfAborted();
    const entry =
      this.#shared(request) ??
      (await this.#reused(request)) ??
      // The same run may have started one meanwhile.
      this.#shared(request) ??
      this.#started(request, signal);
    try {
      const member = await entry.ready;
      signal.throwIfAborted();
      return this.#lease(entry, member);
    } catch (error) {
      await this.#release(entry);
      throw error;
    }
  }

  /** Ends all providers, leased ones as well. */
  async close(): Promise<void> {
    this.#closed.abort(new TfpluginError("TFPLUGIN_CLOSED", "the pool of providers was closed"));
    await Promise.all([...this.#entries].map((entry) => this.#end(entry)));
    await Promise.all(this.#ending);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #signalOf({ signal }: AcquireRequest): AbortSignal {
    const closed = this.#closed.signal;
    return signal === undefined ? closed : AbortSignal.any([closed, signal]);
  }

  /** One that this run holds at this moment. */
  #shared({ key, run, use }: AcquireRequest): Entry | undefined {
    const text = formatPoolKey(key);
    for (const entry of this.#entries) {
      if (entry.run !== run || entry.key !== text || entry.isRetired) continue;
      if (use === "apply" && entry.isUsed) continue;
      entry.hasApplied ||= use === "apply";
      entry.leases += 1;
      return entry;
    }
    return undefined;
  }

  /** One that is idle; those that are found not to be well any more are ended. */
  async #reused({ key, run, use }: AcquireRequest): Promise<Entry | undefined> {
    if (use === "apply") return undefined;
    const text = formatPoolKey(key);
    for (const entry of this.#entries) {
      if (entry.idle === undefined || entry.key !== text) continue;
      entry.idle[Symbol.dispose]();
      entry.idle = undefined;
      entry.isUsed = true;
      entry.leases = 1;
      if (await this.#isWell(entry)) {
        entry.run = run;
        return entry;
      }
      entry.isRetired = true;
      await this.#release(entry);
    }
    return undefined;
  }

  async #isWell(entry: Entry): Promise<boolean> {
    const { clock, healthTimeoutMs, logger } = this.#options;
    const late = new AbortController();
    const timer = clock.after(healthTimeoutMs, () => late.abort());
    try {
      await (await entry.ready).checkHealth(late.signal);
      return true;
    } catch (error) {
      logger.warn({ error }, "idle provider failed its health check");
      return false;
    } finally {
      timer[Symbol.dispose]();
    }
  }

  #started({ key, run, use, start }: AcquireRequest, signal: AbortSignal): Entry {
    const ready = this.#slots.take(signal).then(async () => {
      try {
        return await start(signal);
      } catch (error) {
        this.#slots.free();
        throw error;
      }
    });
    const entry: Entry = {
      key: formatPoolKey(key),
      ready,
      run,
      leases: 1,
      isUsed: false,
      hasApplied: use === "apply",
      isRetired: false,
      idle: undefined,
    };
    // An idle process makes way for one that a caller waits for.
    if (this.#slots.waiting > 0) void this.#evict();
    this.#entries.add(entry);
    void this.#watch(entry);
    return entry;
  }

  /** Takes it out when it has ended by itself, or has not even started. Never rejects. */
  async #watch(entry: Entry): Promise<void> {
    try {
      await (await entry.ready).exited;
    } catch {
      // Its caller receives the error.
      this.#entries.delete(entry);
      return;
    }
    await this.#end(entry);
  }

  /** Ends the one that has been idle longest: an entry that becomes idle moves to the end. */
  async #evict(): Promise<void> {
    const idle = [...this.#entries].find((entry) => entry.idle !== undefined);
    if (idle !== undefined) await this.#end(idle);
  }

  #lease(entry: Entry, { provider }: PoolMember): PooledProviderHandle {
    let released: Promise<void> | undefined;
    const release = (): Promise<void> => (released ??= this.#release(entry));
    const retire = (): void => {
      entry.isRetired = true;
    };
    return {
      provider: borrowPooledProvider(provider, { onStop: retire, onClose: release }),
      retire,
      release,
      [Symbol.asyncDispose]: release,
    };
  }

  async #release(entry: Entry): Promise<void> {
    entry.leases -= 1;
    if (entry.leases > 0 || !this.#entries.has(entry)) return;
    const mayServe = !(entry.isRetired || entry.hasApplied || this.#slots.waiting > 0);
    if (!mayServe) return this.#end(entry);
    const { clock, idleMs } = this.#options;
    entry.run = undefined;
    entry.idle = clock.after(idleMs, () => void this.#end(entry));
    this.#entries.delete(entry);
    this.#entries.add(entry);
  }

  /** Takes it out of the pool and ends it; its place is free once it has ended. */
  async #end(entry: Entry): Promise<void> {
    if (!this.#entries.delete(entry)) return;
    entry.idle?.[Symbol.dispose]();
    entry.idle = undefined;
    const ending = this.#close(entry);
    this.#ending.add(ending);
    await ending;
    this.#ending.delete(ending);
  }

  async #close(entry: Entry): Promise<void> {
    let member: PoolMember;
    try {
      member = await entry.ready;
    } catch {
      // It never started; its caller received the error, and its place is free.
      return;
    }
    try {
      await member.close();
    } catch (error) {
      this.#options.logger.warn({ error }, "provider could not be closed");
    } finally {
      this.#slots.free();
    }
  }
}
