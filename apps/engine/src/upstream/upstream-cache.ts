import type { ProviderAddress } from "@stackwright/provider-source";
import type { BlobStore } from "@stackwright/storage/blob";
import type { Logger } from "pino";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { UpstreamMetrics } from "../metrics/upstream-metrics.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import { placeOf } from "./upstream-documents.ts";

interface UpstreamCacheOptions extends TransactionParts {
  readonly blobs: BlobStore;
  readonly logger: Logger;
  readonly maxCachedBytes?: number | undefined;
  readonly metrics?: UpstreamMetrics | undefined;
}

/** Names a package of the cache. */
interface PackagePlace {
  readonly address: ProviderAddress;
  readonly version: string;
  readonly platform: string;
}

/** A package in the cache of an account. */
export interface CachedEntry {
  readonly provider: string;
  readonly version: string;
  readonly platform: string;
  readonly sha256: string;
  readonly size: number;
  readonly usedAtMs: number;
}

/** How exactly the last use of a package is known: not every request writes. */
const USE_GRAIN_MS = 60_000;

/**
 * Which packages of upstream providers an account keeps. An eviction takes the reference to a blob away; the blob itself is
 * collected an hour after it was served last, so that no response is cut.
 */
export class UpstreamCache {
  readonly #options: UpstreamCacheOptions;

  constructor(options: UpstreamCacheOptions) {
    this.#options = options;
  }

  /** Notes that a package is about to be served and keeps its blob for an hour; false where the blob is gone. */
  async use(
    account: string,
    { address, version, platform }: PackagePlace,
    { sha256, usedAtMs }: { readonly sha256: string; readonly usedAtMs: bigint },
  ): Promise<boolean> {
    const { blobs, clock } = this.#options;
    if ((await blobs.find([sha256])).length === 0) return false;
    if (clock.wallMs() - Number(usedAtMs) >= USE_GRAIN_MS) {
      await this.#change(account, `${address.toString()}/${version}`, (packages, nowMs) =>
        packages.map((one) =>
          one.platform === platform ? { ...one, usedAtMs: BigInt(nowMs) } : one,
        ),
      );
    }
    return true;
  }

  /** The packages of an account, least recently used first. */
  async list(account: string): Promise<readonly CachedEntry[]> {
    const { type, codec } = SERVER_KINDS.upstreamVersion;
    const { tenancy } = placeOf(account, "");
    const found = await this.#options.storage.list("strong", type, tenancy, "");
    return found
      .flatMap(({ id, data }) => {
        const at = id.name.lastIndexOf("/");
        const { packages } = codec.decode(data?.value ?? new Uint8Array());
        return packages.map(({ platform, sha256, size, usedAtMs }) => ({
          provider: id.name.slice(0, at),
          version: id.name.slice(at + 1),
          platform,
          sha256,
          size: Number(size),
          usedAtMs: Number(usedAtMs),
        }));
      })
      .toSorted((a, b) => a.usedAtMs - b.usedAtMs || (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  /** Evicts what is least recently used until the rest fits into the quota of the account; never the one that was just fetched. */
  async shrink(account: string, { address, version, platform }: PackagePlace): Promise<void> {
    const { maxCachedBytes } = this.#options;
    if (maxCachedBytes === undefined) return;
    const fetched = keyOf({ provider: address.toString(), version, platform });
    await this.evict(account, { maxBytes: maxCachedBytes, keep: fetched });
  }

  /** Evicts packages of an account; returns them. */
  async evict(
    account: string,
    what: {
      readonly provider?: string | undefined;
      readonly version?: string | undefined;
      /** Only as many, least recently used first, that the rest of all packages has no more bytes. @default all */
      readonly maxBytes?: number | undefined;
      readonly keep?: string | undefined;
    },
  ): Promise<readonly CachedEntry[]> {
    const { provider, version, maxBytes = 0, keep } = what;
    const all = await this.list(account);
    let excess = all.reduce((sum, { size }) => sum + size, 0) - maxBytes;
    const evicted: CachedEntry[] = [];
    for (const entry of all) {
      if (provider !== undefined && entry.provider !== provider) continue;
      if (version !== undefined && entry.version !== version) continue;
      if (excess <= 0 || keyOf(entry) === keep) continue;
      const found = await this.#drop(account, entry);
      if (found === "used") continue;
      // What another eviction dropped meanwhile is excess no longer.
      excess -= entry.size;
      if (found === "dropped") evicted.push(entry);
    }
    if (evicted.length > 0) {
      const bytes = evicted.reduce((sum, { size }) => sum + size, 0);
      this.#options.metrics?.count("evicted", evicted.length, bytes);
      const packages = evicted.length;
      this.#options.logger.info({ account, packages, bytes }, "mirrored packages were evicted");
    }
    return evicted;
  }

  /** Drops a package, unless it was used since it was listed or is gone. */
  async #drop(account: string, entry: CachedEntry): Promise<"dropped" | "used" | "gone"> {
    let found: "dropped" | "used" | "gone" = "gone";
    await this.#change(account, `${entry.provider}/${entry.version}`, (packages) => {
      const one = packages.find(({ platform }) => platform === entry.platform);
      if (one === undefined) found = "gone";
      else found = Number(one.usedAtMs) > entry.usedAtMs ? "used" : "dropped";
      return found === "dropped" ? packages.filter((each) => each !== one) : packages;
    });
    return found;
  }

  async #change(
    account: string,
    name: string,
    change: (packages: Packages, nowMs: number) => Packages,
  ): Promise<void> {
    await transact(this.#options, async (tx) => {
      const row = await tx.find(SERVER_KINDS.upstreamVersion, placeOf(account, name));
      if (row === undefined) return;
      const packages = change(row.message.packages, tx.nowMs);
      tx.update(row, { packages });
    });
  }
}

type Packages = Parameters<typeof SERVER_KINDS.upstreamVersion.codec.encode>[0]["packages"];

function keyOf({
  provider,
  version,
  platform,
}: Pick<CachedEntry, "provider" | "version" | "platform">): string {
  return `${provider} ${version} ${platform}`;
}
