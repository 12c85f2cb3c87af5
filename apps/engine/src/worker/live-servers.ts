import type { Clock } from "@stackwright/base/clock";
import { type StorageBackend, tenancyOf } from "@stackwright/storage";
import { HEARTBEAT_TYPE, type LeaseTiming, resolveTiming } from "@stackwright/storage/lease";
import { decodeRecord } from "../domain/record-kind.ts";
import { FENCE_KIND, WORKER_LEASE } from "../domain/run-places.ts";

/**
 * Which servers of a store live. Each has the lease of its worker, also one that executes nothing; those of remote workers have a dot in
 * their names. The fence of a server that died stays until it is tidied up, so the heartbeat decides, as it does for who steals a lease:
 * one that stood still here for the time to live is that of a dead server. What is looked at for the first time counts as alive.
 */
export class LiveServers {
  readonly #storage: StorageBackend;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  /** What was seen of each server, and since when it is the same. */
  #seen: ReadonlyMap<string, { readonly sign: string; readonly sinceMs: number }> = new Map();

  constructor({
    storage,
    clock,
    timing,
  }: {
    readonly storage: StorageBackend;
    readonly clock: Clock;
    readonly timing?: LeaseTiming | undefined;
  }) {
    this.#storage = storage;
    this.#clock = clock;
    this.#ttlMs = resolveTiming(timing).ttlMs;
  }

  /** Whether there is more than one, as far as it is known here. */
  async areSeveral(): Promise<boolean> {
    const site = tenancyOf({ kind: "site" });
    const fences = await this.#storage.list("strong", FENCE_KIND.type, site, WORKER_LEASE);
    const held = fences.flatMap((fence) => {
      const { owner } = decodeRecord(FENCE_KIND, fence);
      return owner === "" || owner.includes(".") ? [] : [{ owner, fence }];
    });
    const beats = await this.#storage.list("strong", HEARTBEAT_TYPE, site, WORKER_LEASE);
    const versions = new Map(beats.map(({ id, version }) => [id.name, version]));
    const now = this.#clock.monotonicMs();
    const seen = new Map<string, { readonly sign: string; readonly sinceMs: number }>();
    let alive = 0;
    for (const { owner, fence } of held) {
      const sign = `${fence.version} ${versions.get(fence.id.name)}`;
      const before = this.#seen.get(owner);
      const sinceMs = before?.sign === sign ? before.sinceMs : now;
      seen.set(owner, { sign, sinceMs });
      if (now - sinceMs < this.#ttlMs) alive += 1;
    }
    this.#seen = seen;
    return alive > 1;
  }
}
