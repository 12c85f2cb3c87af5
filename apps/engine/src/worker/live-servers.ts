import type { Clock } from "@stackwright/base/clock";
import { type StorageBackend, tenancyOf } from "@stackwright/storage";
import { HEARTBEAT_TYPE, type LeaseTiming, resolveTiming } from "@stackwright/storage/lease";
import { decodeRecord } from "../domain/record-kind.ts";
import { FENCE_KIND, WORKER_LEASE } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";

/** How long keys are waited for that no live server has, since one had them or since this server missed them first. */
export const KEY_WAIT_MS = 60_000;
/** Sets of keys that are remembered. */
const MAX_REMEMBERED = 1_000;

interface LiveServer {
  /** The keys that it has; undefined where it does not say, as one of a former release. */
  readonly keyIds: readonly string[] | undefined;
}

/**
 * Which servers of a store live. Each has the lease of its worker, also one that executes nothing; those of remote workers have a dot in
 * their names. The fence of a server that died stays until it is tidied up, so the heartbeat decides, as it does for who steals a lease:
 * one that stood still here for the time to live is that of a dead server. What is looked at for the first time counts as alive. No
 * clock of another machine is asked.
 */
export class LiveServers {
  readonly #storage: StorageBackend;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  /** What was seen of each lease, and since when it is the same: a server may have that of another one, which it relieves, beside its own. */
  #seen: ReadonlyMap<string, { readonly sign: string; readonly sinceMs: number }> = new Map();
  /** Until when sets of keys are waited for. */
  readonly #waitUntil = new Map<string, number>();

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

  /**
   * Whether another server has, or may have, keys that this one has not. One that had them may start again, and so they are waited for
   * a while where others live or one had them; a server that is alone and has seen none does not wait.
   */
  async mayHave(keyIds: readonly string[]): Promise<boolean> {
    const live = await this.#live();
    const now = this.#clock.monotonicMs();
    const name = keyIds.join(" ");
    if (live.some((one) => one.keyIds === undefined || hasAll(one.keyIds, keyIds))) {
      this.#wait(name, now + KEY_WAIT_MS);
      return true;
    }
    const until = this.#waitUntil.get(name);
    if (until !== undefined) return now < until;
    if (live.length < 2) return false;
    this.#wait(name, now + KEY_WAIT_MS);
    return true;
  }

  #wait(name: string, untilMs: number): void {
    this.#waitUntil.delete(name);
    this.#waitUntil.set(name, untilMs);
    const [oldest] = this.#waitUntil.keys();
    if (this.#waitUntil.size > MAX_REMEMBERED && oldest !== undefined) {
      this.#waitUntil.delete(oldest);
    }
  }

  async #live(): Promise<readonly LiveServer[]> {
    const site = tenancyOf({ kind: "site" });
    const fences = await this.#storage.list("strong", FENCE_KIND.type, site, WORKER_LEASE);
    const held = fences.flatMap((fence) => {
      const { owner } = decodeRecord(FENCE_KIND, fence);
      return owner === "" || owner.includes(".") ? [] : [{ owner, fence }];
    });
    const beats = await this.#storage.list("strong", HEARTBEAT_TYPE, site, WORKER_LEASE);
    const versions = new Map(beats.map(({ id, version }) => [id.name, version]));
    const published = await this.#storage.list("strong", SERVER_KINDS.serverKeys.type, site, "");
    const keysOf = new Map(
      published.map((one) => [one.id.name, decodeRecord(SERVER_KINDS.serverKeys, one).keyIds]),
    );
    const now = this.#clock.monotonicMs();
    const seen = new Map<string, { readonly sign: string; readonly sinceMs: number }>();
    const live = new Map<string, LiveServer>();
    for (const { owner, fence } of held) {
      const { name } = fence.id;
      const sign = `${fence.version} ${versions.get(name)}`;
      const before = this.#seen.get(name);
      const sinceMs = before?.sign === sign ? before.sinceMs : now;
      seen.set(name, { sign, sinceMs });
      if (now - sinceMs < this.#ttlMs) live.set(owner, { keyIds: keysOf.get(owner) });
    }
    this.#seen = seen;
    return [...live.values()];
  }
}

function hasAll(held: readonly string[], needed: readonly string[]): boolean {
  return needed.every((id) => held.includes(id));
}
