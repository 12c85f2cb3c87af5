import { join, resolve } from "node:path";
import { programRequirements, providerCaches } from "@stackwright/core";
import { resolveProviders } from "@stackwright/lang";
import {
  LOCAL_HOST,
  LOCK_FILE_NAME,
  LockFile,
  ProviderAddress,
  type ProviderRequirement,
  readLockFile,
  VersionConstraints,
  writeLockFile,
} from "@stackwright/provider-source";
import type { DigestMemory, InstalledProvider } from "@stackwright/tfplugin/install";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { attachedProviders } from "./attached-providers.ts";
import type { Project } from "./project.ts";
import { dataFolder } from "./session.ts";
import { undeclaredProviderHint } from "./undeclared-providers.ts";

/** Providers of these hosts are not installed: they are programs of this machine, or live in functions. */
const NOT_INSTALLED: ReadonlySet<string> = new Set([LOCAL_HOST, "huawei.com"]);

interface InstallRequest {
  /** Ignores the lock file and selects the newest allowed versions. @default false */
  readonly upgrade?: boolean;
  /** The lock file is written; otherwise a difference is an error. @default true */
  readonly writesLock?: boolean;
  /** Folders with packages, in place of all others that the CLI configuration names. @default none */
  readonly pluginFolders?: readonly string[];
  /** Sources of which something is recorded, also where the configuration no longer names them. */
  readonly recorded?: Iterable<string>;
  /** Packages that did not change since they were read are not read again. @default false */
  readonly remembersDigests?: boolean;
}

/**
 * Installs the providers that a configuration requires, from the places that the CLI configuration file names, and
 * updates the lock file. Installed providers are only checked. Without anything to install no file is changed.
 *
 * @returns by full source
 */
export async function install(
  project: Project,
  context: CommandContext,
  request: InstallRequest = {},
): Promise<ReadonlyMap<string, InstalledProvider>> {
  const recorded = new Set(request.recorded);
  const attached = await attachedProviders(context.env);
  const requirements = requirementsOf(project, recorded).filter(isInstalled(attached));
  if (requirements.length === 0) return new Map();
  const { installProviders, loadCliConfiguration } = await import("@stackwright/tfplugin/install");
  const { directory, env, signal } = context;
  const digestMemory = request.remembersDigests === true ? await openDigests(env) : undefined;
  const path = join(directory, LOCK_FILE_NAME);
  const { locks: lock } = (await readLockFile(path)) ?? { locks: LockFile.empty };
  const { lock: changed, providers } = await installProviders({
    requirements,
    lock,
    directory: join(dataFolder(context), "providers"),
    configuration: onlyFolders(
      await loadCliConfiguration({ env, cwd: directory }),
      (request.pluginFolders ?? []).map((folder) => resolve(directory, folder)),
    ),
    upgrade: request.upgrade ?? false,
    digestMemory,
    cwd: directory,
    env,
    signal,
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    // What is recorded of a provider was made with it.
    throw undeclaredProviderHint(error, project.configuration, recorded);
  });
  // Those of plug-ins are kept; they are not installed here.
  const after = [...project.plugins.values()].reduce((locks, { address }) => {
    const entry = lock.get(address);
    return entry === undefined ? locks : locks.with(entry);
  }, changed);
  if (after.toString() === lock.toString()) return providers;
  if (request.writesLock === false) {
    throw new CommandError(`The lock file of providers "${LOCK_FILE_NAME}" would change.`, {
      advice: "Run stackwright init without -lockfile=readonly, and commit the file.",
    });
  }
  await writeLockFile(path, after);
  return providers;
}

/** The memory of packages that were read; undefined where every command reads them in full. */
export async function openDigests(env: NodeJS.ProcessEnv): Promise<DigestMemory | undefined> {
  const { digests } = providerCaches(env);
  if (digests === undefined) return undefined;
  const { createDigestMemory } = await import("@stackwright/tfplugin/install");
  return createDigestMemory(digests);
}

/** A configuration that installs from these folders alone, where there are any. */
function onlyFolders<T extends { readonly methods: readonly unknown[] | undefined }>(
  configuration: T,
  folders: readonly string[],
): T {
  if (folders.length === 0) return configuration;
  const scope = { include: undefined, exclude: [] };
  const methods = folders.map((path) => ({ kind: "filesystem_mirror", path, ...scope }));
  return { ...configuration, methods };
}

/**
 * The providers of a configuration that are here already, as the lock file says: nothing is brought, and nothing is written. What is
 * not here is not among them.
 */
export async function findInstalled(
  project: Project,
  context: CommandContext,
  recorded: Iterable<string> = [],
): Promise<ReadonlyMap<string, InstalledProvider>> {
  const attached = await attachedProviders(context.env);
  const requirements = requirementsOf(project, recorded).filter(isInstalled(attached));
  if (requirements.length === 0) return new Map();
  const { installProviders, loadCliConfiguration } = await import("@stackwright/tfplugin/install");
  const { directory, env, signal } = context;
  const { locks: lock } = (await readLockFile(join(directory, LOCK_FILE_NAME))) ?? {
    locks: LockFile.empty,
  };
  const configuration = await loadCliConfiguration({ env, cwd: directory });
  const digestMemory = await openDigests(env);
  const found = new Map<string, InstalledProvider>();
  for (const requirement of requirements) {
    try {
      const { providers } = await installProviders({
        requirements: [requirement],
        lock,
        directory: join(dataFolder(context), "providers"),
        // Overrides and installed providers; no place to install from.
        configuration: { ...configuration, methods: [], pluginCacheDir: undefined },
        digestMemory,
        cwd: directory,
        env,
        signal,
      });
      for (const [source, provider] of providers) found.set(source, provider);
    } catch {
      signal.throwIfAborted();
    }
  }
  return found;
}

/** What is installed for a configuration, and for what is recorded: the programs in place of a provider that they make up. */
export function requirementsOf(
  project: Pick<Project, "configuration" | "tests" | "joined">,
  recorded: Iterable<string> = [],
): readonly ProviderRequirement[] {
  return allRequirementsOf(project, recorded).filter(
    ({ address }) => address.kind !== "builtin" && !NOT_INSTALLED.has(hostOf(address)),
  );
}

/** The same with programs of this machine, and with what is built in. */
export function allRequirementsOf(
  { configuration, tests, joined }: Pick<Project, "configuration" | "tests" | "joined">,
  recorded: Iterable<string> = [],
): readonly ProviderRequirement[] {
  const resolutions = (tests?.modules ?? []).map(({ root }) => resolveProviders(root));
  const required = [configuration.resolution, ...resolutions].flatMap(({ requirements }) => [
    ...requirements.values(),
  ]);
  const kept = Array.from(recorded, (source) => ({
    address: ProviderAddress.parse(source),
    constraints: VersionConstraints.any,
  }));
  return programRequirements([...required, ...kept], joined);
}

/** Providers that other programs have started are not installed. */
function isInstalled(
  attached: ReadonlyMap<string, unknown>,
): (requirement: ProviderRequirement) => boolean {
  return ({ address }) => !attached.has(address.toString());
}

function hostOf(address: ProviderAddress): string {
  return address.toString().split("/")[0] ?? "";
}

/** One line for each provider that was brought just now. */
export function installedLines(providers: ReadonlyMap<string, InstalledProvider>): string[] {
  return [...providers.values()]
    .filter(({ origin }) => origin === "installed" || origin === "cache")
    .map(
      ({ address, version, authentication }) =>
        `Installed ${address.toString()} ${version?.toString() ?? ""}${authenticationText(authentication)}`,
    );
}

/** What vouches for a package, to be put behind its name. */
export function authenticationText(authentication: InstalledProvider["authentication"]): string {
  switch (authentication?.kind) {
    case "signed":
      return ` (signed, key ${authentication.keyId})`;
    case "checksum":
      return " (hash of a mirror)";
    case "none":
      return " (unsigned)";
    case undefined:
    default:
      return "";
  }
}
