import type { Resource, StorageBackend } from "@stackwright/storage";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { readableRecords, removeExpired } from "./expired-records.ts";

const KEPT_MS = 30 * 24 * 3_600_000;
/** Versions of an account of which no package is kept. */
const MAX_VERSIONS = 2_000;

interface Leftover {
  readonly resource: Pick<Resource, "id" | "version">;
  readonly askedAtMs: number;
}

/**
 * Removes what is known of upstream providers that nothing asked for in 30 days, and of each account the versions beyond 2,000 that were not asked
 * for longest. A version of which a package is kept stays, as does one in quarantine; all others are asked for again. Resolves with their number.
 */
export async function expireUpstream(
  storage: StorageBackend,
  nowMs: number,
  signal: AbortSignal,
  maxVersions = MAX_VERSIONS,
): Promise<number> {
  const { upstreamProvider, upstreamVersion } = SERVER_KINDS;
  const old: Leftover[] = [];
  const versions = new Map<string, Leftover[]>();
  for await (const { id, version, message } of readableRecords(storage, upstreamVersion, signal)) {
    const { packages, quarantinedAtMs, askedAtMs } = message;
    if (packages.length > 0 || quarantinedAtMs !== 0n) continue;
    const one = { resource: { id, version }, askedAtMs: Number(askedAtMs) };
    const { partition: account } = id.tenancy;
    const own = versions.get(account);
    if (own === undefined) versions.set(account, [one]);
    else own.push(one);
  }
  for (const own of versions.values()) {
    const newestFirst = own.toSorted((a, b) => b.askedAtMs - a.askedAtMs);
    old.push(
      ...newestFirst.filter((one, at) => at >= maxVersions || nowMs - one.askedAtMs >= KEPT_MS),
    );
  }
  for await (const { id, version, message } of readableRecords(storage, upstreamProvider, signal)) {
    if (message.quarantined.length > 0) continue;
    const askedAtMs = Number(message.fetchedAtMs);
    if (nowMs - askedAtMs >= KEPT_MS) old.push({ resource: { id, version }, askedAtMs });
  }
  let removed = 0;
  for (const { resource } of old) {
    signal.throwIfAborted();
    // One that was asked for meanwhile stays.
    if (await removeExpired(storage, resource)) removed += 1;
  }
  return removed;
}
