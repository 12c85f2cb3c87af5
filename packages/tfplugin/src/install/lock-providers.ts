import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  type ArchiveLimits,
  hashDirectory,
  isSupportedHash,
  type LockFile,
  type PackageHash,
  type PackageId,
  type Platform,
  type ProviderRequirement,
} from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";
import { type CliConfiguration, EMPTY_CLI_CONFIGURATION } from "./cli-configuration.ts";
import { type FetchLimits, fetchArchive } from "./fetch-archive.ts";
import { filesystemMirror } from "./filesystem-mirror.ts";
import { type HttpClientOptions, InstallHttpClient } from "./http-client.ts";
import { networkMirror } from "./network-mirror.ts";
import { PackageStore } from "./package-store.ts";
import type { Authentication, PackageInstallationSource } from "./provider-source.ts";
import { directRegistry } from "./registry.ts";
import { mergeRequirements, selectVersion } from "./select-version.ts";
import { findOffer, type ScopedInstallationSource } from "./sources.ts";

/** Where hashes come from. A mirror is asked for all providers, regardless of the configuration. */
export type LockInstallationSource =
  | { readonly kind: "registry" }
  | { readonly kind: "filesystem_mirror"; readonly path: string }
  /** An `https:` URL. */
  | { readonly kind: "network_mirror"; readonly url: string };

export interface LockProvidersOptions extends FetchLimits {
  readonly requirements: readonly ProviderRequirement[];
  /** What was selected before: versions and hashes stay, those of other providers as well. */
  readonly lock: LockFile;
  readonly platforms: readonly Platform[];
  /** @default the registry of each provider's host */
  readonly source?: LockInstallationSource;
  /** Hosts and tokens; its methods of installation do not count. @default the one without a configuration file */
  readonly configuration?: CliConfiguration;
  /** Relative paths start here. @default the present one */
  readonly cwd?: string;
  readonly http?: HttpClientOptions;
  readonly archiveLimits?: ArchiveLimits;
  /** Called for each package when its hashes are known. */
  readonly onPackage?: (done: LockedPackage) => void;
  readonly signal?: AbortSignal;
}

/** A package whose hashes were found. */
export interface LockedPackage extends PackageId {
  readonly authentication: Authentication;
  /** What the lock file gains: a provider that it did not have, further hashes, or nothing. */
  readonly gain: "provider" | "hashes" | "nothing";
}

export interface LockProvidersResult {
  /** To be written in place of the former one. */
  readonly lock: LockFile;
  readonly packages: readonly LockedPackage[];
}

/**
 * Adds the hashes of packages for several platforms to a lock file, as `terraform providers lock` does. Every package is
 * fetched, checked and unpacked in a temporary folder; what the lock file says is not asked of it, as it is the lock file that is
 * made here. Nothing is installed; all or nothing is locked.
 *
 * Rejects as `installProviders` does, and with `TFPLUGIN_OPTIONS_INVALID` for a mirror that is no `https:` URL.
 */
export async function lockProviders(options: LockProvidersOptions): Promise<LockProvidersResult> {
  const { lock: former, platforms, onPackage } = options;
  const signal = options.signal ?? new AbortController().signal;
  const http = httpClientOf(options);
  const sources: readonly ScopedInstallationSource[] = [
    { source: sourceOf(options, http), mayHave: () => true },
  ];
  await using folder = await mkdtempDisposable(join(tmpdir(), "stackwright-lock-"));
  const store = new PackageStore(folder.path, options.archiveLimits);
  let lock = former;
  const packages: LockedPackage[] = [];
  for (const requirement of mergeRequirements(options.requirements)) {
    const { address, constraints } = requirement;
    // One version for all platforms, so that one entry is true of all of them.
    const version = await selectVersion(requirement, former, sources, signal);
    const hashes = new Set<PackageHash>();
    for (const platform of platforms) {
      signal.throwIfAborted();
      const id = { address, version, platform };
      const {
        location,
        hashes: said,
        signed,
        authentication,
      } = await findOffer(id, sources, signal);
      let h1: PackageHash;
      if (location.kind === "directory") h1 = await hashDirectory(location.path, { signal });
      else {
        await using scratch = await store.scratch();
        const path = join(scratch.path, "package.zip");
        const archive = await fetchArchive(id, location, said, {
          path,
          http,
          limits: options,
          signal,
        });
        h1 = await store.unpack(id, archive, signal);
      }
      const found = [h1, ...signed];
      for (const hash of found) hashes.add(hash);
      const done: LockedPackage = { ...id, authentication, gain: gainOf(id, found, former) };
      packages.push(done);
      onPackage?.(done);
    }
    lock = lock.addPlatformHashes({ address, version, constraints, hashes });
  }
  return { lock, packages };
}

/** What fetches on behalf of a configuration. */
export function httpClientOf({
  configuration = EMPTY_CLI_CONFIGURATION,
  http,
}: Pick<LockProvidersOptions, "configuration" | "http">): InstallHttpClient {
  return new InstallHttpClient({
    tokens: configuration.tokens,
    ...configuration.registryHttp,
    ...http,
  });
}

function sourceOf(
  { source = { kind: "registry" }, configuration, cwd = process.cwd() }: LockProvidersOptions,
  http: InstallHttpClient,
): PackageInstallationSource {
  switch (source.kind) {
    case "registry": {
      const { hosts } = configuration ?? EMPTY_CLI_CONFIGURATION;
      return directRegistry({ http, hosts });
    }
    case "filesystem_mirror":
      return filesystemMirror(resolve(cwd, source.path));
    case "network_mirror": {
      const { url } = source;
      if (!URL.canParse(url) || new URL(url).protocol !== "https:") {
        const text = `the mirror ${JSON.stringify(url)} must be an https: URL`;
        throw new TfpluginError("TFPLUGIN_OPTIONS_INVALID", text);
      }
      return networkMirror(url.endsWith("/") ? url : `${url}/`, http);
    }
    default:
      return source satisfies never;
  }
}

function gainOf(
  { address }: PackageId,
  found: readonly PackageHash[],
  former: LockFile,
): LockedPackage["gain"] {
  const locked = former.get(address);
  if (locked === undefined) return "provider";
  const isNew = found.some((hash) => isSupportedHash(hash) && !locked.hashes.includes(hash));
  return isNew ? "hashes" : "nothing";
}
