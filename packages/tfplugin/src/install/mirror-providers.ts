import { randomBytes } from "node:crypto";
import { chmod, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import {
  LockFile,
  type PackageId,
  type Platform,
  type ProviderAddress,
  type ProviderRequirement,
  packedPath,
  type Version,
} from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";
import { type CliConfiguration, EMPTY_CLI_CONFIGURATION } from "./cli-configuration.ts";
import { type FetchLimits, fetchArchive } from "./fetch-archive.ts";
import type { HttpClientOptions, InstallHttpClient } from "./http-client.ts";
import { httpClientOf } from "./lock-providers.ts";
import { writeMirrorIndexes } from "./mirror-index.ts";
import type { Authentication } from "./provider-source.ts";
import { directRegistry } from "./registry.ts";
import { mergeRequirements, selectVersion } from "./select-version.ts";
import { findOffer, type ScopedInstallationSource } from "./sources.ts";

export interface MirrorProvidersOptions extends FetchLimits {
  readonly requirements: readonly ProviderRequirement[];
  /** Versions that are locked are the ones that are mirrored. @default none is locked */
  readonly lock?: LockFile;
  readonly platforms: readonly Platform[];
  /** The folder, which is made where it is missing. */
  readonly directory: string;
  /** Hosts and tokens; its methods of installation do not count. @default the one without a configuration file */
  readonly configuration?: CliConfiguration;
  /** Relative paths start here. @default the present one */
  readonly cwd?: string;
  readonly http?: HttpClientOptions;
  /** Called for each package when it is in its place. */
  readonly onPackage?: (done: MirroredPackage) => void;
  readonly signal?: AbortSignal;
}

/** A package that lies in the mirror now. */
export interface MirroredPackage extends PackageId {
  readonly authentication: Authentication;
}

/** Something that could not be mirrored. */
export interface MirrorProblem {
  readonly address: ProviderAddress;
  /** Where it is about one package. */
  readonly version?: Version;
  readonly platform?: Platform;
  readonly error: unknown;
}

export interface MirrorProvidersResult {
  readonly packages: readonly MirroredPackage[];
  /** What else was asked for; the other packages are there all the same. */
  readonly problems: readonly MirrorProblem[];
}

/**
 * Copies the packages of providers from the registries of their hosts into a folder that can be a filesystem mirror, or be served as
 * a network mirror, as `terraform providers mirror` does. Packages and documents appear whole, so that the folder may be in use.
 *
 * Rejects with the signal's reason, `TFPLUGIN_LOCK_CONFLICT` where the lock file lacks a provider or holds a version that is not
 * allowed, and where the folder cannot be written or holds an archive that is none. What a registry does not have, or what
 * is not what it says, is a problem of the result.
 */
export async function mirrorProviders(
  options: MirrorProvidersOptions,
): Promise<MirrorProvidersResult> {
  const { configuration = EMPTY_CLI_CONFIGURATION, lock = LockFile.empty } = options;
  const signal = options.signal ?? new AbortController().signal;
  const http = httpClientOf(options);
  const sources: readonly ScopedInstallationSource[] = [
    { source: directRegistry({ http, hosts: configuration.hosts }), mayHave: () => true },
  ];
  const root = resolve(options.cwd ?? process.cwd(), options.directory);
  const requirements = mergeRequirements(options.requirements);
  requireLocked(requirements, lock);
  const packages: MirroredPackage[] = [];
  const problems: MirrorProblem[] = [];
  const trying = async (
    about: Omit<MirrorProblem, "error">,
    work: () => Promise<void>,
  ): Promise<void> => {
    try {
      await work();
    } catch (error) {
      signal.throwIfAborted();
      problems.push({ ...about, error });
    }
  };
  for (const requirement of requirements) {
    const { address } = requirement;
    await trying({ address }, async () => {
      const version = await selectVersion(requirement, lock, sources, signal);
      for (const platform of options.platforms) {
        await trying({ address, version, platform }, async () => {
          const id = { address, version, platform };
          const authentication = await bring(id, root, { ...options, sources, http, signal });
          const done = { ...id, authentication };
          packages.push(done);
          options.onPackage?.(done);
        });
      }
    });
  }
  await mkdir(root, { recursive: true });
  await writeMirrorIndexes(root, { signal });
  return { packages, problems };
}

/** Either nothing is locked, or everything that is asked for. */
function requireLocked(requirements: readonly ProviderRequirement[], lock: LockFile): void {
  if (lock.providers.size === 0) return;
  for (const { address } of requirements) {
    if (lock.get(address) !== undefined) continue;
    const text = `${address.toDisplay()} is required and not in the lock file`;
    throw new TfpluginError("TFPLUGIN_LOCK_CONFLICT", text, { provider: address.toString() });
  }
}

/** Puts one archive in its place. It is checked under another name, which is that of no package. */
async function bring(
  id: PackageId,
  root: string,
  {
    sources,
    http,
    signal,
    ...limits
  }: FetchLimits & {
    readonly sources: readonly ScopedInstallationSource[];
    readonly http: InstallHttpClient;
    readonly signal: AbortSignal;
  },
): Promise<Authentication> {
  const { location, hashes, authentication } = await findOffer(id, sources, signal);
  if (location.kind !== "download") throw new TypeError("a registry offers downloads");
  const place = join(root, packedPath(id));
  await mkdir(dirname(place), { recursive: true });
  const path = join(dirname(place), `.${basename(place)}.${randomBytes(6).toString("hex")}`);
  try {
    await fetchArchive(id, location, hashes, { path, http, limits, signal });
    // Others serve it.
    await chmod(path, 0o644);
    await rename(path, place);
  } finally {
    await rm(path, { force: true });
  }
  return authentication;
}
