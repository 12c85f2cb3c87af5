import { join, resolve } from "node:path";
import {
  type ArchiveLimits,
  checkableHashes,
  hashDirectory,
  LockFile,
  type PackageHash,
  type PackageId,
  Platform,
  type ProviderAddress,
  type ProviderRequirement,
  packageHasAnyHash,
  type Version,
  type VersionConstraints,
} from "@stackwright/provider-source";
import type { DigestMemory } from "../cache/digest-memory.ts";
import { TfpluginError } from "../errors.ts";
import { type CliConfiguration, EMPTY_CLI_CONFIGURATION } from "./cli-configuration.ts";
import { fetchArchive } from "./fetch-archive.ts";
import { type HttpClientOptions, InstallHttpClient } from "./http-client.ts";
import { executableIn, PackageStore } from "./package-store.ts";
import type { Authentication, PackageOffer } from "./provider-source.ts";
import { mergeRequirements, selectVersion } from "./select-version.ts";
import { findOffer, type ScopedInstallationSource, sourcesOf } from "./sources.ts";

export interface InstallOptions {
  readonly requirements: readonly ProviderRequirement[];
  /** What was selected before. */
  readonly lock: LockFile;
  /** Where packages are installed, such as `.terraform/providers`. */
  readonly directory: string;
  /** @default the one without a configuration file */
  readonly configuration?: CliConfiguration;
  /** Selects the newest versions again instead of those that are locked. @default false */
  readonly upgrade?: boolean;
  /** @default that of this process */
  readonly platform?: Platform;
  /** The folder of the template. @default the present one */
  readonly cwd?: string;
  /** @default that of this process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly http?: HttpClientOptions;
  /** Largest archive, in bytes. @default 2 GiB */
  readonly maxArchiveBytes?: number;
  /** How often a download that breaks off is resumed. @default 5 */
  readonly resumes?: number;
  readonly archiveLimits?: ArchiveLimits;
  /** Asked for hashes of packages that are in their places. @default every package is read in full */
  readonly digestMemory?: DigestMemory | undefined;
  readonly signal?: AbortSignal;
}

/** A provider whose program can be started. */
export interface InstalledProvider {
  readonly address: ProviderAddress;
  /** Undefined for one that is overridden. */
  readonly version: Version | undefined;
  readonly directory: string;
  /** Path of the program. */
  readonly executable: string;
  /** Hash of the package, which was found to be in the lock file or was just installed; absent for one that is overridden. */
  readonly digest?: PackageHash;
  /** How it came to be there. */
  readonly origin: "override" | "present" | "cache" | "installed";
  /** Of what was installed by this call. */
  readonly authentication: Authentication | undefined;
}

export interface InstallResult {
  /** To be written in place of the former one. */
  readonly lock: LockFile;
  /** By address in full canonical form; without built-in ones. */
  readonly providers: ReadonlyMap<string, InstalledProvider>;
}

interface Selected {
  readonly provider: InstalledProvider;
  readonly constraints: VersionConstraints;
  readonly h1?: PackageHash;
  readonly signed?: readonly PackageHash[];
}

const CONCURRENCY = 4;

/**
 * Installs what templates require, as `terraform init` does: versions that are locked, or else the newest that are
 * allowed; from the sources that the configuration names; checked against the lock file, and against what the source
 * says of them. Built-in providers are left out. Safe where other processes install to the same folders.
 *
 * Rejects with the signal's reason, a `ProviderSourceError` (archives that are damaged or unsafe, failures of the file
 * system) or a `TfpluginError`: `TFPLUGIN_PROVIDER_UNKNOWN`, `TFPLUGIN_VERSION_UNAVAILABLE`,
 * `TFPLUGIN_PLATFORM_UNAVAILABLE`, `TFPLUGIN_LOCK_CONFLICT` (constraints and lock file disagree), `TFPLUGIN_CHECKSUM_MISMATCH`,
 * `TFPLUGIN_SIGNATURE_INVALID`, `TFPLUGIN_PROTOCOL_UNSUPPORTED`, `TFPLUGIN_PACKAGE_INVALID`, `TFPLUGIN_REGISTRY_*`,
 * `TFPLUGIN_DOWNLOAD_TOO_LARGE`. Packages that were finished before stay; the lock file is the caller's to write.
 */
export async function installProviders(options: InstallOptions): Promise<InstallResult> {
  const requirements = mergeRequirements(options.requirements);
  const failed = new AbortController();
  const signals = options.signal === undefined ? [failed.signal] : [failed.signal, options.signal];
  const installer = new Installer(options, AbortSignal.any(signals));
  const selected: Selected[] = [];
  const queue = requirements.values();
  const work = async (): Promise<void> => {
    for (const requirement of queue) {
      try {
        selected.push(await installer.install(requirement));
      } catch (error) {
        // The first failure is the one that is reported; what it cuts short is not.
        failed.abort(error);
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: CONCURRENCY }, work));
  options.signal?.throwIfAborted();
  if (results.some(({ status }) => status === "rejected")) throw failed.signal.reason;

  let lock = options.lock.retain(requirements.map(({ address }) => address));
  for (const { provider, constraints, h1: installed, signed = [] } of selected) {
    const { address, version } = provider;
    if (version === undefined || installed === undefined) continue;
    lock = lock.recordInstallation({ address, version, constraints, installed, signed });
  }
  const providers = selected.map(
    ({ provider }) => [provider.address.toString(), provider] as const,
  );
  return { lock, providers: new Map(providers) };
}

class Installer {
  readonly #options: InstallOptions;
  readonly #configuration: CliConfiguration;
  readonly #platform: Platform;
  readonly #http: InstallHttpClient;
  readonly #sources: readonly ScopedInstallationSource[];
  readonly #signal: AbortSignal;
  readonly #target: PackageStore;
  readonly #cache: PackageStore | undefined;

  constructor(options: InstallOptions, signal: AbortSignal) {
    const { configuration = EMPTY_CLI_CONFIGURATION, platform = Platform.ofNode() } = options;
    const { cwd = process.cwd(), env = process.env, archiveLimits } = options;
    const { pluginCacheDir, tokens } = configuration;
    this.#options = options;
    this.#configuration = configuration;
    this.#platform = platform;
    this.#signal = signal;
    this.#http = new InstallHttpClient({ tokens, ...configuration.registryHttp, ...options.http });
    this.#sources = sourcesOf(configuration, { http: this.#http, env, cwd });
    this.#target = new PackageStore(resolve(cwd, options.directory), archiveLimits);
    this.#cache =
      pluginCacheDir === undefined ? undefined : new PackageStore(pluginCacheDir, archiveLimits);
  }

  async install({ address, constraints }: ProviderRequirement): Promise<Selected> {
    this.#signal.throwIfAborted();
    const override = this.#configuration.devOverrides.get(address.toString());
    if (override !== undefined) return overridden(address, constraints, override);
    const locked = this.#options.upgrade === true ? LockFile.empty : this.#options.lock;
    const requirement = { address, constraints };
    const version = await selectVersion(requirement, locked, this.#sources, this.#signal);
    const id = { address, version, platform: this.#platform };
    // An upgrade to the version that is locked has to have its hashes as well.
    const former = this.#options.lock.get(address);
    const accepted = former?.version.equals(version) === true ? checkableHashes(former) : [];
    return (
      (await this.#present(id, constraints, accepted)) ??
      (await this.#cached(id, constraints, accepted)) ??
      (await this.#fetched(id, constraints, accepted))
    );
  }

  /** A package that is in its place, and is what the lock file says. */
  async #present(
    id: PackageId,
    constraints: VersionConstraints,
    accepted: readonly PackageHash[],
  ): Promise<Selected | undefined> {
    if (accepted.length === 0) return undefined;
    const h1 = await this.#target.hashOf(id, this.#signal, this.#options.digestMemory);
    if (h1 === undefined || !accepted.includes(h1)) return undefined;
    return this.#selected(id, constraints, "present", { h1 });
  }

  /** A package of the cache. Without its hash in the lock file nothing vouches for it. */
  async #cached(
    id: PackageId,
    constraints: VersionConstraints,
    accepted: readonly PackageHash[],
  ): Promise<Selected | undefined> {
    const h1 = await this.#cache?.hashOf(id, this.#signal);
    if (this.#cache === undefined || h1 === undefined) return undefined;
    const mayUse =
      accepted.includes(h1) || (accepted.length === 0 && this.#configuration.cacheMayBreakLockFile);
    if (!mayUse) return undefined;
    await this.#target.link(id, this.#cache.pathOf(id));
    return this.#selected(id, constraints, "cache", { h1 });
  }

  async #fetched(
    id: PackageId,
    constraints: VersionConstraints,
    accepted: readonly PackageHash[],
  ): Promise<Selected> {
    const offer = await findOffer(id, this.#sources, this.#signal);
    const { signed, authentication } = offer;
    const h1 = await this.#take(id, offer, accepted);
    return this.#selected(id, constraints, "installed", { h1, signed, authentication });
  }

  /** Puts what is offered in its place. */
  async #take(
    id: PackageId,
    { location, hashes }: PackageOffer,
    accepted: readonly PackageHash[],
  ): Promise<PackageHash> {
    const signal = this.#signal;
    if (location.kind === "directory") {
      const path = resolve(location.path);
      if (
        accepted.length > 0 &&
        !(await packageHasAnyHash({ kind: "directory", path }, accepted, { signal }))
      ) {
        throw notLocked(id);
      }
      await this.#target.link(id, path);
      return hashDirectory(path, { signal });
    }
    const store = this.#cache ?? this.#target;
    await using scratch = await store.scratch();
    const archive = await fetchArchive(id, location, hashes, {
      path: join(scratch.path, "package.zip"),
      http: this.#http,
      limits: this.#options,
      signal,
    });
    const found = { kind: "archive", archive } as const;
    if (accepted.length > 0 && !(await packageHasAnyHash(found, accepted, { signal }))) {
      throw notLocked(id);
    }
    const h1 = await store.unpack(id, archive, signal);
    if (store !== this.#target) await this.#target.link(id, store.pathOf(id));
    return h1;
  }

  async #selected(
    id: PackageId,
    constraints: VersionConstraints,
    origin: InstalledProvider["origin"],
    done: {
      readonly h1: PackageHash;
      readonly signed?: readonly PackageHash[];
      readonly authentication?: Authentication;
    },
  ): Promise<Selected> {
    const { address, version } = id;
    const directory = this.#target.pathOf(id);
    const executable = await this.#target.executableOf(id);
    const { authentication, ...hashes } = done;
    return {
      provider: {
        address,
        version,
        directory,
        executable,
        digest: done.h1,
        origin,
        authentication,
      },
      constraints,
      ...hashes,
    };
  }
}

async function overridden(
  address: ProviderAddress,
  constraints: VersionConstraints,
  directory: string,
): Promise<Selected> {
  const executable = await executableIn(directory, address.type);
  return {
    provider: {
      address,
      version: undefined,
      directory,
      executable,
      origin: "override",
      authentication: undefined,
    },
    constraints,
  };
}

function notLocked(id: PackageId): TfpluginError {
  const text = `the package of ${id.address.toDisplay()} ${id.version.toString()} has none of the hashes in the lock file`;
  return new TfpluginError("TFPLUGIN_CHECKSUM_MISMATCH", text, { provider: id.address.toString() });
}
