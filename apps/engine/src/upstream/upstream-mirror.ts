import { createReadStream } from "node:fs";
import { mkdtempDisposable, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UpstreamVersion } from "@stackwright/proto/stackwright";
import { isStrictVersion, Platform, ProviderAddress, Version } from "@stackwright/provider-source";
import { isRegistryError } from "@stackwright/registry";
import type { BlobStore } from "@stackwright/storage/blob";
import { TfpluginError } from "@stackwright/tfplugin";
import {
  directRegistry,
  fetchArchive,
  hostKey,
  type InstallHttpClient,
  type PackageInstallationSource,
  type PackageOffer,
  parseChecksums,
  type ServiceDiscovery,
  serviceDiscovery,
} from "@stackwright/tfplugin/install";
import type { Logger } from "pino";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { UpstreamMetrics } from "../metrics/upstream-metrics.ts";
import { type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import { UpstreamCache } from "./upstream-cache.ts";
import {
  asked,
  isNotFound,
  noVersion,
  placeOf,
  refuseQuarantined,
  releasesOf,
  signedParts,
  type UpstreamRelease,
  withdrawnUpstream,
} from "./upstream-documents.ts";

interface UpstreamMirrorOptions extends TransactionParts {
  readonly blobs: BlobStore;
  readonly logger: Logger;
  /** The registries that may be asked: the address of each, or undefined where service discovery finds it. */
  readonly hosts: ReadonlyMap<string, string | undefined>;
  readonly http: InstallHttpClient;
  /** Packages of an account that are kept. @default as many as the account has room for */
  readonly maxCachedBytes?: number | undefined;
  readonly metrics?: UpstreamMetrics | undefined;
  /** Bytes of one package. @default 1 GiB */
  readonly maxPackageBytes?: number | undefined;
  /** Ends downloads when the server stops. */
  readonly stopping: AbortSignal;
}

interface CachedPackage {
  readonly sha256: string;
  readonly size: number;
}

/** What the provider registry protocol says of a package. */
interface UpstreamDownload
  extends Pick<UpstreamVersion, "checksums" | "signature" | "signingKeys"> {
  readonly filename: string;
  readonly sha256: string;
  readonly protocols: readonly string[];
}

/** How long what a registry said about a provider is used without asking again. */
const FRESH_MS = 5 * 60_000;
/** How exactly it is known when a version was asked for last: not every request writes. */
const ASKED_GRAIN_MS = 24 * 3_600_000;
const DOCUMENT_MS = 30_000;
const DOWNLOAD_MS = 15 * 60_000;
/** Packages that a server fetches at the same time. */
const MAX_DOWNLOADS = 8;
const SERVICE = "providers.v1";

/**
 * Providers of upstream registries, each fetched once for an account: the signature of the publisher over the checksums and the checksum
 * of the package are compared before anything is kept. What is in the cache is served without the registry.
 */
export class UpstreamMirror {
  readonly #options: UpstreamMirrorOptions;
  readonly #registry: PackageInstallationSource;
  readonly #discover: ServiceDiscovery;
  readonly #cache: UpstreamCache;
  /** What is under way, by what it is for. */
  readonly #open = new Map<string, Promise<unknown>>();
  #downloads = 0;

  constructor(options: UpstreamMirrorOptions) {
    const { http } = options;
    const hosts = new Map(
      [...options.hosts].flatMap(([host, url]) =>
        url === undefined ? [] : [[hostKey(host), new Map([[SERVICE, url]])] as const],
      ),
    );
    this.#options = options;
    this.#cache = new UpstreamCache(options);
    this.#registry = directRegistry({ http, hosts });
    this.#discover = serviceDiscovery({ http, hosts });
  }

  /** The address of a provider; undefined for one that no allowed registry has. */
  address(host: string, namespace: string, type: string): ProviderAddress | undefined {
    const isAllowed = [...this.#options.hosts.keys()].some((one) => hostKey(one) === hostKey(host));
    if (!isAllowed) return undefined;
    try {
      return ProviderAddress.parse(`${host}/${namespace}/${type}`);
    } catch {
      return undefined;
    }
  }

  /** The versions on offer that are not quarantined. `not_found` where the registry does not have the provider. */
  async releases(account: string, address: ProviderAddress): Promise<readonly UpstreamRelease[]> {
    const all = await this.#releases(account, address);
    const quarantined = new Set(await this.#quarantinedOf(account, address));
    return all.filter(({ version }) => !quarantined.has(version));
  }

  /** The platforms of a version, and the hashes that the publisher signed for all of them. */
  async version(account: string, address: ProviderAddress, version: string) {
    const release = (await this.#releases(account, address)).find((one) => one.version === version);
    const known = await this.#version(account, address, version);
    refuseQuarantined(version, known);
    const [platform] = release?.platforms ?? [];
    if (release === undefined || platform === undefined) {
      throw await this.#missing(address, version, known);
    }
    // A release may get packages for further platforms later.
    if (known !== undefined && known.hashes.length >= release.platforms.length) {
      return { ...release, hashes: known.hashes };
    }
    const { hashes } = await this.#once(`hashes ${account} ${address.toString()} ${version}`, () =>
      this.#hashes(account, address, version, platform),
    );
    return { ...release, hashes };
  }

  /** A package, from the cache or fetched into it. */
  async package(
    account: string,
    address: ProviderAddress,
    version: string,
    platform: string,
  ): Promise<CachedPackage> {
    const known = await this.#version(account, address, version);
    refuseQuarantined(version, known);
    const cached = known?.packages.find((one) => one.platform === platform);
    if (cached !== undefined) {
      const place = { address, version, platform };
      if (await this.#cache.use(account, place, cached)) {
        this.#options.metrics?.count("cached", 1, Number(cached.size));
        return { sha256: cached.sha256, size: Number(cached.size) };
      }
    }
    const key = `package ${account} ${address.toString()} ${version} ${platform}`;
    return this.#once(key, () => this.#fetch(account, address, version, platform));
  }

  /** What a registry says of one package: its checksum, and the documents that the publisher signed. */
  async download(
    account: string,
    address: ProviderAddress,
    version: string,
    platform: string,
  ): Promise<UpstreamDownload> {
    const known = await this.#version(account, address, version);
    refuseQuarantined(version, known);
    const found = known === undefined ? undefined : downloadOf(known, platform);
    if (found !== undefined) return found;
    const key = `download ${account} ${address.toString()} ${version} ${platform}`;
    const changed = await this.#once(key, () => this.#hashes(account, address, version, platform));
    const asked = downloadOf(changed, platform);
    if (asked !== undefined) return asked;
    throw new ServerError("not_found", `${address.toString()} ${version} has no ${platform}`);
  }

  /** The packages in the cache of an account, least recently used first. */
  async cached(account: string) {
    return this.#cache.list(account);
  }

  /** Drops packages from the cache: those of a provider or a version, or the least recently used ones beyond a number of bytes. */
  async evict(account: string, what: Parameters<UpstreamCache["evict"]>[1]) {
    return this.#cache.evict(account, what);
  }

  /** Versions that are quarantined, of one provider or of all. */
  async quarantined(
    account: string,
    address: ProviderAddress | undefined,
  ): Promise<readonly (readonly [version: string, provider: string, UpstreamVersion])[]> {
    const kind = SERVER_KINDS.upstreamVersion;
    const { tenancy, name } = placeOf(
      account,
      address === undefined ? "" : `${address.toString()}/`,
    );
    const found = await this.#options.storage.list("strong", kind.type, tenancy, name);
    return found
      .map(({ id, data }) => {
        const at = id.name.lastIndexOf("/");
        const message = kind.codec.decode(data?.value ?? new Uint8Array());
        return [id.name.slice(at + 1), id.name.slice(0, at), message] as const;
      })
      .filter(([, , { quarantinedAtMs }]) => quarantinedAtMs !== 0n);
  }

  /** The quarantine of a version, from its record alone; undefined where it is not in one. */
  async quarantineOf(
    account: string,
    address: ProviderAddress,
    version: string,
  ): Promise<{ readonly sinceMs: number; readonly reason: string } | undefined> {
    const place = placeOf(account, `${address.toString()}/${version}`);
    const row = await transact(this.#options, async (tx) =>
      tx.find(SERVER_KINDS.upstreamVersion, place),
    );
    const { quarantinedAtMs = 0n, quarantineReason: reason = "" } = row?.message ?? {};
    return quarantinedAtMs === 0n ? undefined : { sinceMs: Number(quarantinedAtMs), reason };
  }

  /** Offers a version no longer, or again, with what belongs to the change. */
  async quarantine(
    account: string,
    address: ProviderAddress,
    version: string,
    change: { readonly reason: string; readonly actor: string } | undefined,
    { companion }: Pick<TransactionParts, "companion"> = {},
  ): Promise<UpstreamVersion> {
    return transact({ ...this.#options, companion }, async (tx) => {
      const place = placeOf(account, `${address.toString()}/${version}`);
      const row = await tx.findOrNew(SERVER_KINDS.upstreamVersion, place, nothingOf);
      const quarantinedAtMs = change === undefined ? 0n : BigInt(tx.nowMs);
      const { reason: quarantineReason = "", actor: quarantinedBy = "" } = change ?? {};
      tx.update(row, { quarantinedAtMs, quarantineReason, quarantinedBy });
      // Also where the index is not whole yet: what makes it so begins again then.
      const provider = await this.#provider(tx, account, address);
      const others = provider.message.quarantined.filter((one) => one !== version);
      tx.update(provider, { quarantined: change === undefined ? others : [...others, version] });
      return row.message;
    });
  }

  /** The quarantined versions of one provider, from its own record. */
  async #quarantinedOf(account: string, address: ProviderAddress): Promise<readonly string[]> {
    return transact(this.#options, async (tx) => {
      const row = await this.#provider(tx, account, address);
      if (!row.message.indexed) {
        const all = await this.quarantined(account, address);
        tx.update(row, { quarantined: all.map(([version]) => version), indexed: true });
      }
      return row.message.quarantined;
    });
  }

  async #provider(tx: Transaction, account: string, address: ProviderAddress) {
    const place = placeOf(account, address.toString());
    return tx.findOrNew(SERVER_KINDS.upstreamProvider, place, () => ({
      releases: [],
      fetchedAtMs: 0n,
      quarantined: [],
      indexed: false,
    }));
  }

  async #releases(account: string, address: ProviderAddress): Promise<readonly UpstreamRelease[]> {
    const { clock, logger } = this.#options;
    const place = placeOf(account, address.toString());
    const found = await transact(this.#options, async (tx) =>
      tx.find(SERVER_KINDS.upstreamProvider, place),
    );
    // A record of quarantined versions alone says nothing of what there is.
    const stored = found?.message.fetchedAtMs === 0n ? undefined : found;
    const ageMs = clock.wallMs() - Number(stored?.message.fetchedAtMs ?? 0n);
    if (stored !== undefined && ageMs < FRESH_MS) return stored.message.releases;
    try {
      return await this.#once(`releases ${account} ${address.toString()}`, () =>
        this.#ask(account, address),
      );
    } catch (error) {
      if (stored === undefined || isNotFound(error)) throw error;
      logger.warn({ err: error, provider: address.toString() }, "an upstream registry fails");
      return stored.message.releases;
    }
  }

  async #ask(account: string, address: ProviderAddress): Promise<readonly UpstreamRelease[]> {
    const signal = this.#signal(DOCUMENT_MS);
    const { host, namespace, type } = address;
    const document = await asked(address, async () => {
      const base = await this.#discover(host, SERVICE, signal);
      if (base === undefined) throw new Error(`${host} has no provider registry`);
      const url = new URL(`./${namespace}/${type}/versions`, base);
      return this.#options.http.json(url, { authorize: hostKey(host), signal });
    });
    if (document === undefined) {
      throw new ServerError("not_found", `${host} has no provider ${namespace}/${type}`);
    }
    const releases = releasesOf(document["versions"]);
    await transact(this.#options, async (tx) => {
      const row = await this.#provider(tx, account, address);
      tx.update(row, { releases, fetchedAtMs: BigInt(tx.nowMs) });
    });
    return releases;
  }

  async #hashes(account: string, address: ProviderAddress, version: string, platform: string) {
    const offer = await this.#offer(address, version, platform);
    return this.#change(account, address, version, (found) => signedParts(found, offer, platform));
  }

  async #fetch(
    account: string,
    address: ProviderAddress,
    version: string,
    platform: string,
  ): Promise<CachedPackage> {
    if (this.#downloads >= MAX_DOWNLOADS) {
      const text = `the server fetches ${MAX_DOWNLOADS} packages at the same time; try again later`;
      throw new ServerError("rate_limited", text, { retryAfterMs: 5_000 });
    }
    this.#downloads += 1;
    try {
      await using scratch = await mkdtempDisposable(join(tmpdir(), "upstream-"));
      const { http, blobs, maxPackageBytes = 1024 ** 3, logger } = this.#options;
      const offer = await this.#offer(address, version, platform);
      const { location } = offer;
      if (location.kind !== "download") throw new Error("a registry names addresses alone");
      const signal = this.#signal(DOWNLOAD_MS);
      const id = { address, version: Version.parse(version), platform: Platform.parse(platform) };
      const path = await asked(address, async () =>
        fetchArchive(id, location, offer.hashes, {
          path: join(scratch.path, "package.zip"),
          http,
          limits: { maxArchiveBytes: maxPackageBytes, resumes: 3 },
          signal,
        }),
      );
      const { size } = await stat(path);
      const { sha256 } = await blobs.write(createReadStream(path), { signal, owner: account });
      await this.#change(account, address, version, (found, nowMs) => ({
        ...signedParts(found, offer, platform),
        packages: [
          ...found.packages.filter((one) => one.platform !== platform),
          { platform, sha256, size: BigInt(size), usedAtMs: BigInt(nowMs) },
        ],
      }));
      this.#options.metrics?.count("fetched", 1, size);
      await this.#cache.shrink(account, { address, version, platform });
      logger.info(
        { provider: address.toString(), version, platform, sha256, size, account },
        "a package was mirrored",
      );
      return { sha256, size };
    } finally {
      this.#downloads -= 1;
    }
  }

  async #offer(address: ProviderAddress, version: string, platform: string): Promise<PackageOffer> {
    const id = { address, version: Version.parse(version), platform: Platform.parse(platform) };
    const offer = await asked(address, async () => {
      try {
        return await this.#registry.offer(id, this.#signal(DOCUMENT_MS));
      } catch (error) {
        // That it gave a version up is no failure of a registry.
        if (!TfpluginError.is(error, "TFPLUGIN_VERSION_UNAVAILABLE")) throw error;
        throw withdrawnUpstream(address, version, { reason: error.reason, cause: error });
      }
    });
    if (offer !== undefined) return offer;
    throw new ServerError("not_found", `${address.toString()} ${version} has no ${platform}`);
  }

  /**
   * Why a version is not listed. Registries that say which versions they withdrew are asked; of others it is known where this server had
   * the version from them.
   */
  async #missing(
    address: ProviderAddress,
    version: string,
    known: UpstreamVersion | undefined,
  ): Promise<Error> {
    if (!isStrictVersion(version)) return noVersion(address, version);
    try {
      await this.#once(`missing ${address.toString()} ${version}`, () =>
        this.#offer(address, version, Platform.ofNode().toString()),
      );
    } catch (error) {
      if (isRegistryError(error, "REGISTRY_VERSION_WITHDRAWN")) return error;
      // The list says already that the version is not there; that the registry is away now adds nothing.
    }
    const wasThere = known !== undefined && (known.hashes.length > 0 || known.packages.length > 0);
    return wasThere ? withdrawnUpstream(address, version) : noVersion(address, version);
  }

  async #version(
    account: string,
    address: ProviderAddress,
    version: string,
  ): Promise<UpstreamVersion | undefined> {
    const place = placeOf(account, `${address.toString()}/${version}`);
    const row = await transact(this.#options, async (tx) =>
      tx.find(SERVER_KINDS.upstreamVersion, place),
    );
    if (row === undefined) return undefined;
    // How long it is kept when nothing asks for it any longer.
    if (this.#options.clock.wallMs() - Number(row.message.askedAtMs) < ASKED_GRAIN_MS) {
      return row.message;
    }
    return this.#change(account, address, version, () => ({}));
  }

  async #change(
    account: string,
    address: ProviderAddress,
    version: string,
    changes: (found: UpstreamVersion, nowMs: number) => Partial<UpstreamVersion>,
  ): Promise<UpstreamVersion> {
    const place = placeOf(account, `${address.toString()}/${version}`);
    return transact(this.#options, async (tx) => {
      const row = await tx.findOrNew(SERVER_KINDS.upstreamVersion, place, nothingOf);
      tx.update(row, { ...changes(row.message, tx.nowMs), askedAtMs: BigInt(tx.nowMs) });
      return row.message;
    });
  }

  /** One at a time of what is the same: others wait for its end. */
  async #once<T>(key: string, task: () => Promise<T>): Promise<T> {
    const open = this.#open.get(key);
    if (open !== undefined) return open as Promise<T>;
    const started = task().finally(() => this.#open.delete(key));
    this.#open.set(key, started);
    return started;
  }

  #signal(ms: number): AbortSignal {
    return AbortSignal.any([this.#options.stopping, AbortSignal.timeout(ms)]);
  }
}

/** The record of a version of which nothing is known. */
function nothingOf(): UpstreamVersion {
  return {
    hashes: [],
    keyId: "",
    packages: [],
    quarantinedAtMs: 0n,
    quarantineReason: "",
    quarantinedBy: "",
    checksums: new Uint8Array(),
    signature: new Uint8Array(),
    signingKeys: [],
    files: [],
    askedAtMs: 0n,
  };
}

/** What a record has of a package; undefined where its registry has to be asked. */
function downloadOf(known: UpstreamVersion, platform: string): UpstreamDownload | undefined {
  const { checksums, signature, signingKeys } = known;
  const file = known.files.find((one) => one.platform === platform);
  if (file === undefined) return undefined;
  const { filename, protocols } = file;
  const sha256 = parseChecksums(checksums, "the checksums").get(filename);
  if (sha256 === undefined) return undefined;
  return { filename, sha256, protocols, checksums, signature, signingKeys };
}
