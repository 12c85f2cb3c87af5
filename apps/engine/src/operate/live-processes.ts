import { type Clock, sleep } from "@stackwright/base/clock";
import { type Resource, type StorageBackend, tenancyOf, WILDCARD } from "@stackwright/storage";
import {
  FENCE_TYPE,
  fenceHolderOf,
  HEARTBEAT_TYPE,
  type LeaseTiming,
  resolveTiming,
} from "@stackwright/storage/lease";
import { WORKER_LEASE } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { readableRecord } from "../retention/expired-records.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
const POLL_MS = 250;

/** A process that writes to a store. */
interface LiveProcess {
  /** A worker is on another machine than its server; `work` is what a command or a step of a run has locked. */
  readonly kind: "server" | "worker" | "work";
  /** Its id; of work what is locked. */
  readonly name: string;
  /** Of a server that says it. */
  readonly release: string | undefined;
}

/**
 * Which servers, workers and commands write to a store: those that give a sign of life within the time to live of their leases. Answers at once where
 * nothing holds a lease, and waits up to that time, 15 seconds, where some process died with one. No clock of another machine is asked. A process that
 * only reads is not found, and neither is a command between two runs.
 */
export async function findLiveProcesses(
  storage: StorageBackend,
  {
    clock,
    timing,
    signal,
  }: {
    readonly clock: Clock;
    /** Of the leases. */
    readonly timing?: LeaseTiming | undefined;
    readonly signal: AbortSignal;
  },
): Promise<readonly LiveProcess[]> {
  const onDamaged = (): void => undefined;
  const fences = await storage.list("strong", FENCE_TYPE, ANYWHERE, "", { signal, onDamaged });
  const held = new Map(
    fences.flatMap((fence) => {
      const owner = ownerOf(fence);
      return owner === "" ? [] : [[keyOf(fence.id), { owner, name: fence.id.name }] as const];
    }),
  );
  if (held.size === 0) return [];
  const beats = async (): Promise<ReadonlyMap<string, string>> => {
    const options = { signal, onDamaged };
    const found = await storage.list("strong", HEARTBEAT_TYPE, ANYWHERE, "", options);
    return new Map(found.map(({ id, version }) => [keyOf(id), version]));
  };
  const first = await beats();
  const alive = new Set<string>();
  const untilMs = clock.monotonicMs() + resolveTiming(timing).ttlMs;
  while (alive.size < held.size && clock.monotonicMs() < untilMs) {
    await sleep(clock, POLL_MS, signal);
    for (const [key, version] of await beats()) {
      if (held.has(key) && first.get(key) !== version) alive.add(key);
    }
  }
  const releases = await releasesOf(storage, signal);
  return Array.from(alive, (key) => {
    const { owner, name } = held.get(key) ?? { owner: "", name: "" };
    if (!name.startsWith(WORKER_LEASE)) return { kind: "work", name, release: undefined };
    const isRemote = owner.includes(".");
    const release = releases.get(owner);
    return { kind: isRemote ? "worker" : "server", name: owner, release };
  });
}

/** Empty for a fence that is free, or cannot be read: nothing renews that. */
function ownerOf(fence: Resource): string {
  try {
    return fenceHolderOf(fence).owner;
  } catch {
    return "";
  }
}

/** The releases of servers by the ids of their workers. */
async function releasesOf(
  storage: StorageBackend,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const kind = SERVER_KINDS.serverKeys;
  const options = { signal, onDamaged: () => undefined };
  const found = await storage.list("strong", kind.type, tenancyOf({ kind: "site" }), "", options);
  return new Map(
    found.flatMap((one) => {
      const release = readableRecord(kind, one)?.release ?? "";
      return release === "" ? [] : [[one.id.name, release] as const];
    }),
  );
}

function keyOf({ tenancy, name }: { readonly tenancy: object; readonly name: string }): string {
  return JSON.stringify([tenancy, name]);
}
