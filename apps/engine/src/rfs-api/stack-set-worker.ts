import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { sleep } from "@stackwright/base/clock";
import { createLeases, type Leases, type Renewer } from "@stackwright/storage/lease";
import { accountTenancy } from "../access/access-places.ts";
import { type Place, RUN_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listen } from "../queue/listen.ts";
import { mirrorKind } from "../queue/mirror-kind.ts";
import { advanceStackSet } from "./advance-operation.ts";
import { OpenStackSets, stackSetKey } from "./open-stack-sets.ts";
import type { RfsParts } from "./rfs-parts.ts";
import type { StackSetReference } from "./stack-set-places.ts";

const KIND = SERVER_KINDS.rfsStackSet;

/** Sets that are worked for at the same time. */
const MAX_SETS = 4;
/** How often the sets with operations that have not ended are looked at. */
const SWEEP_MS = 10_000;
/** How long the lease of a set is waited for: longer than a dead server keeps one. */
const LEASE_MS = 30_000;
/** How long a set rests whose work failed. */
const FAILED_MS = 2_000;

interface StackSetWorkerParts extends RfsParts {
  readonly renewer?: Renewer | undefined;
}

/**
 * Carries out the operations of stack sets. Any number of servers do so on one store: the lease of a set is with one of them, and every write
 * names it. What a server leaves when it ends is done by the next one. Each follows the sets, and reads those that have something to do.
 */
export class StackSetWorker {
  readonly #parts: StackSetWorkerParts;
  readonly #leases: Leases;
  readonly #ending = new AbortController();
  readonly #busy = new Map<string, Promise<void>>();
  /** Sets with operations that have not ended, as the watch has said. */
  #open: OpenStackSets | undefined;
  /** Sets that are to be looked at. */
  readonly #due = new Map<string, StackSetReference>();
  /** The sets that wait for runs, by the ids of their stacks. */
  readonly #awaited = new Map<string, StackSetReference>();
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  #bell = Promise.withResolvers<void>();
  readonly #loops: Promise<unknown>;

  constructor(parts: StackSetWorkerParts) {
    this.#parts = parts;
    const { storage, clock, renewer } = parts;
    this.#leases = createLeases({
      storage,
      clock,
      owner: `stack-sets@${hostname()} (process ${process.pid}, ${randomUUID().slice(0, 8)})`,
      ...(renewer !== undefined && { renewer }),
    });
    const { signal } = this.#ending;
    this.#loops = Promise.all([
      this.#loop(),
      mirrorKind(
        parts,
        KIND.type,
        {
          create: () => {
            this.#open = new OpenStackSets(parts.logger, (set) => this.#ring(set));
            return this.#open;
          },
          onSynced: () => undefined,
          onChange: () => undefined,
        },
        signal,
      ),
      listen(parts, RUN_KIND.type, (place) => this.#runChanged(place), signal),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error("the server stops"));
    this.#bell.resolve();
    await Promise.all([this.#loops, ...this.#busy.values()]);
  }

  #runChanged({ name }: Place): void {
    const set = this.#awaited.get(name.slice(0, name.indexOf(".")));
    if (set !== undefined) this.#ring(set);
  }

  #ring(set: StackSetReference): void {
    this.#due.set(stackSetKey(set), set);
    this.#bell.resolve();
  }

  async #loop(): Promise<void> {
    const { clock, random } = this.#parts;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      this.#bell = Promise.withResolvers<void>();
      if (clock.monotonicMs() - this.#sweptAtMs >= SWEEP_MS) {
        this.#sweptAtMs = clock.monotonicMs();
        for (const set of this.#open?.all() ?? []) this.#due.set(stackSetKey(set), set);
      }
      this.#begin();
      const pause = new AbortController();
      await Promise.race([
        this.#bell.promise,
        sleep(
          clock,
          SWEEP_MS * (0.75 + random() / 2),
          AbortSignal.any([signal, pause.signal]),
        ).catch(() => undefined),
      ]);
      pause.abort();
    }
  }

  #begin(): void {
    for (const [key, set] of this.#due) {
      if (this.#busy.has(key)) continue;
      if (this.#busy.size >= MAX_SETS) return;
      this.#due.delete(key);
      const working = this.#workFor(set)
        .catch(async (error: unknown) => {
          const { signal } = this.#ending;
          if (signal.aborted) return;
          const { clock, logger } = this.#parts;
          logger.warn({ set: set.name, err: error }, "a stack set could not be advanced");
          // What fails at once is not tried again at once.
          await sleep(clock, FAILED_MS, signal).catch(() => undefined);
          this.#due.set(key, set);
        })
        .finally(() => {
          this.#busy.delete(key);
          this.#bell.resolve();
        });
      this.#busy.set(key, working);
    }
  }

  async #workFor(set: StackSetReference): Promise<void> {
    const { signal: ending } = this.#ending;
    const waiting = AbortSignal.any([ending, AbortSignal.timeout(LEASE_MS)]);
    const name = { tenancy: accountTenancy(set.account), name: `stack-set-${set.name}` };
    await using lease = await this.#leases.acquire(name, { signal: waiting });
    const signal = AbortSignal.any([ending, lease.signal]);
    const stacks = await advanceStackSet(this.#parts, set, {
      guard: lease.guard,
      signal,
      onRequest: (stack) => this.#awaited.set(stack, set),
    });
    for (const [stack, one] of this.#awaited) {
      if (stackSetKey(one) === stackSetKey(set)) this.#awaited.delete(stack);
    }
    for (const stack of stacks) this.#awaited.set(stack, set);
  }
}
