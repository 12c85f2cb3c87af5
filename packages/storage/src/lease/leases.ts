import { type Clock, sleep, systemClock } from "@stackwright/base/clock";
import { StorageError } from "../errors.ts";
import { readStored } from "../read-stored.ts";
import type { Resource } from "../resource.ts";
import type { CallOptions, Guard, StorageBackend } from "../types.ts";
import { createUlidGenerator } from "../ulid.ts";
import { unsupported } from "../validate.ts";
import { type LeaseTiming, type ResolvedTiming, resolveTiming } from "./lease-options.ts";
import {
  type FenceHolder,
  fenceHolderOf,
  fenceResource,
  fenceResourceId,
  heartbeatId,
  heartbeatResource,
  type LeaseName,
} from "./lease-records.ts";
import { createScheduledRenewer, type Renewer } from "./renewer.ts";

/** Options of {@link createLeases}. */
export interface LeasesOptions {
  readonly storage: StorageBackend;
  /** Names this worker; another one after every start of the process. */
  readonly owner: string;
  readonly timing?: LeaseTiming;
  /** @default the process's */
  readonly clock?: Clock;
  /**
   * Keeps the leases alive; closed by its owner. Where other processes can reach the store, use
   * `createThreadRenewer`, so that a long turn of this thread costs no lease.
   *
   * @default on this thread, by `clock`
   */
  readonly renewer?: Renewer;
}

/** A lease that this worker holds. */
export interface Lease extends AsyncDisposable {
  readonly name: LeaseName;
  readonly tenure: FenceHolder;
  /**
   * Names the fence at the version of this tenure. A write with this guard cannot succeed once the
   * lease has gone to another, even while this worker still assumes that it holds it.
   */
  readonly guard: Guard;
  /** Aborts when the lease is lost; the reason is `STORAGE_LEASE_LOST`. Not by a release. */
  readonly signal: AbortSignal;
  /** Whether the holder may still count on the lease, by the clock and without asking the store. */
  isHeld(): boolean;
  /** Gives the lease back, so that the next holder need not wait. Disposing does the same. */
  release(): Promise<void>;
}

/** Takes leases for one worker. */
export interface Leases {
  /**
   * Takes the lease if it is free, or if its holder shows no life for the whole time to live;
   * waits as long as that takes. Rejects with the signal's reason, or when the store refuses.
   */
  acquire(name: LeaseName, options?: CallOptions): Promise<Lease>;
  /** Takes the lease if it is free; `undefined` when another holds it. */
  tryAcquire(name: LeaseName, options?: CallOptions): Promise<Lease | undefined>;
}

// The fence says who holds the lease and is written on acquisition, steal and release only; guards
// name its version, so renewals do not disturb guarded writes. The heartbeat is written by renewals.
// A steal replaces the fence and, in the same step, exactly that heartbeat which the thief saw
// unchanged for the whole time to live on its own monotonic clock. So a holder that renewed in the
// meantime makes the steal fail, and a holder that was stolen from fails at its next renewal.

/** Leases over a store; `STORAGE_UNSUPPORTED` when its engine has no guards or batches. */
export function createLeases(options: LeasesOptions): Leases {
  const { capabilities } = options.storage;
  if (capabilities.guards < 1 || capabilities.batch < 2) {
    throw unsupported(capabilities, "guards and batches, which leases need");
  }
  const clock = options.clock ?? systemClock;
  const token = createUlidGenerator({ wallMs: () => clock.wallMs() });
  const renewer =
    options.renewer ?? createScheduledRenewer({ storage: options.storage, clock, token });
  const taker = new LeaseTaker({
    storage: options.storage,
    owner: options.owner,
    timing: resolveTiming(options.timing),
    clock,
    renewer,
    token,
  });
  return {
    acquire: (name, call) => taker.acquire(name, call?.signal),
    tryAcquire: (name, call) => taker.tryAcquire(name, call?.signal),
  };
}

interface TakerParts {
  readonly storage: StorageBackend;
  readonly owner: string;
  readonly timing: ResolvedTiming;
  readonly clock: Clock;
  readonly renewer: Renewer;
  readonly token: () => string;
}

/** Fence and heartbeat as they are stored. */
interface Stored {
  readonly fence: Resource | undefined;
  readonly heartbeat: Resource | undefined;
}

class LeaseTaker {
  readonly #parts: TakerParts;

  constructor(parts: TakerParts) {
    this.#parts = parts;
  }

  async tryAcquire(name: LeaseName, signal: AbortSignal | undefined): Promise<Lease | undefined> {
    const stored = await this.#look(name, signal);
    if (fenceHolderOf(stored.fence).owner !== "") return undefined;
    const lease = await this.#take(name, stored);
    return lease && unlessGivenUp(lease, signal);
  }

  async acquire(name: LeaseName, signal: AbortSignal | undefined): Promise<Lease> {
    const { clock, timing } = this.#parts;
    let sign: string | undefined;
    let since = 0;
    for (;;) {
      const lease = await this.#attempt(name, signal, (stored) => {
        if (fenceHolderOf(stored.fence).owner === "") return true;
        // Any write of the fence or the heartbeat is a sign of life.
        const seen = `${stored.fence?.version} ${stored.heartbeat?.version}`;
        const now = clock.monotonicMs();
        if (seen !== sign) {
          sign = seen;
          since = now;
        }
        return now - since >= timing.ttlMs;
      });
      if (lease !== undefined) return unlessGivenUp(lease, signal);
      await sleep(clock, timing.ttlMs / 10, signal);
    }
  }

  /** Looks, and takes the lease if it may; a store that is away is the same as a held lease. */
  async #attempt(
    name: LeaseName,
    signal: AbortSignal | undefined,
    mayTake: (stored: Stored) => boolean,
  ): Promise<Lease | undefined> {
    try {
      const stored = await this.#look(name, signal);
      return mayTake(stored) ? await this.#take(name, stored) : undefined;
    } catch (error) {
      if (error instanceof StorageError && error.code === "STORAGE_INCONSISTENT") return undefined;
      throw error;
    }
  }

  async #look(name: LeaseName, signal: AbortSignal | undefined): Promise<Stored> {
    const { storage } = this.#parts;
    // The fence first: a heartbeat that is read later is at least as new.
    const fence = await readStored(storage, "strong", fenceResourceId(name), { signal });
    const heartbeat = await readStored(storage, "strong", heartbeatId(name), { signal });
    return { fence, heartbeat };
  }

  /** Writes fence and heartbeat over what was seen; `undefined` when that is no longer stored. */
  async #take(name: LeaseName, stored: Stored): Promise<Lease | undefined> {
    const { storage, owner, timing, clock, token } = this.#parts;
    const acquiredAt = clock.monotonicMs();
    const tenure: FenceHolder = { owner, epoch: fenceHolderOf(stored.fence).epoch + 1n };
    const mark = token();
    const fence = fenceResource(name, stored.fence, tenure, mark);
    const heartbeat = heartbeatResource(name, stored.heartbeat, tenure, mark);
    let written: Stored;
    try {
      // Without the signal: a batch that was given up may have taken the lease all the same.
      const [newFence, newHeartbeat] = await storage.batch([
        { kind: "write", resource: fence },
        { kind: "write", resource: heartbeat },
      ]);
      written = { fence: newFence, heartbeat: newHeartbeat };
    } catch (error) {
      const { code } = StorageError.from(error);
      if (code === "STORAGE_CAS_FAILURE" || code === "STORAGE_WRONG_UID") return undefined;
      if (code !== "STORAGE_INCONSISTENT") throw error;
      // The answer was lost; the mark shows whether the batch is what is stored now.
      written = await this.#look(name, undefined);
      if (written.fence?.generation !== mark) throw error;
    }
    if (written.fence === undefined || written.heartbeat === undefined) return undefined;
    return new HeldLease(
      this.#parts,
      {
        lease: name,
        tenure,
        guard: { id: written.fence.id, version: written.fence.version },
        heartbeat: written.heartbeat,
        timing,
        acquiredAt,
      },
      written.fence,
    );
  }
}

/** The lease, unless its taker has given up meanwhile: then it goes back. */
async function unlessGivenUp(lease: Lease, signal: AbortSignal | undefined): Promise<Lease> {
  if (signal?.aborted !== true) return lease;
  await lease.release();
  throw signal.reason;
}

class HeldLease implements Lease {
  readonly name: LeaseName;
  readonly tenure: FenceHolder;
  readonly guard: Guard;
  readonly #parts: TakerParts;
  readonly #fence: Resource;
  readonly #lost = new AbortController();
  readonly #renewal: ReturnType<Renewer["start"]>;
  #releasing: Promise<void> | undefined;

  constructor(parts: TakerParts, task: Parameters<Renewer["start"]>[0], fence: Resource) {
    this.name = task.lease;
    this.tenure = task.tenure;
    this.guard = task.guard;
    this.#parts = parts;
    this.#fence = fence;
    this.#renewal = parts.renewer.start(task, (error) => this.#lost.abort(error));
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  isHeld(): boolean {
    if (this.#lost.signal.aborted || this.#releasing !== undefined) return false;
    const { clock, timing } = this.#parts;
    return clock.monotonicMs() - this.#renewal.renewedAt() < timing.stopMs;
  }

  async release(): Promise<void> {
    this.#releasing ??= this.#release();
    await this.#releasing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  async #release(): Promise<void> {
    await this.#renewal.stop();
    const { storage, token } = this.#parts;
    const free: FenceHolder = { owner: "", epoch: this.tenure.epoch };
    try {
      await storage.writeCAS(fenceResource(this.name, this.#fence, free, token()));
    } catch (error) {
      // Another owner has it, also one that was made in place of this one, or can have it when the time to live is over.
      const { code } = StorageError.from(error);
      const isOver = code === "STORAGE_CAS_FAILURE" || code === "STORAGE_WRONG_UID";
      if (!isOver && code !== "STORAGE_INCONSISTENT") throw error;
    }
  }
}
