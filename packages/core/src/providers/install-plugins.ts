import type { LockFile, ProviderRequirement, Version } from "@stackwright/provider-source";
import { EngineError } from "../errors.ts";
import type { InstalledPlugin, InstallPluginOptions } from "./install-pulumi-plugin.ts";
import type { PluginServer } from "./plugin-servers.ts";

export interface InstallPluginsOptions
  extends Pick<InstallPluginOptions, "directory" | "cwd" | "digestMemory" | "signal"> {
  /** What is required; sources without a server are passed over. */
  readonly requirements: readonly ProviderRequirement[];
  /** By full source. */
  readonly servers: ReadonlyMap<string, PluginServer>;
  readonly lock: LockFile;
  /** Selects versions again instead of those that are locked. @default false */
  readonly upgrade?: boolean;
  /** False: only what is locked and in its folder is found, and nothing is brought. @default true */
  readonly brings?: boolean;
}

/** Plug-ins in their folders. */
export interface InstalledPlugins {
  /** By name. */
  readonly plugins: ReadonlyMap<string, InstalledPlugin>;
  /** To be written by the caller. */
  readonly lock: LockFile;
}

/**
 * Installs the plug-ins that templates require and that have a server: the version that is locked, else the one that is constrained
 * exactly, else the newest that is allowed of a server that is a folder or has a list of versions.
 *
 * `ENGINE_PROVIDER_UNAVAILABLE` where one cannot be chosen or brought, or is not what its checksum and the lock file say.
 */
export async function installPlugins(options: InstallPluginsOptions): Promise<InstalledPlugins> {
  const { requirements, servers, upgrade = false, brings = true } = options;
  const plugins = new Map<string, InstalledPlugin>();
  let { lock } = options;
  for (const { address, constraints } of requirements) {
    const server = servers.get(address.toString());
    if (server === undefined) continue;
    // Loaded where there are any: it needs what fetches and unpacks.
    const { installPulumiPlugin, findInstalledPlugin } = await import("./install-pulumi-plugin.ts");
    const { listPluginVersions } = await import("./list-plugin-versions.ts");
    const entry = options.lock.get(address);
    const locked = upgrade ? undefined : entry?.version;
    const hashesOf = (version: Version) =>
      entry?.version.equals(version) === true ? entry.hashes : [];
    if (!brings) {
      const found =
        locked &&
        (await findInstalledPlugin(server, locked, { ...options, locked: hashesOf(locked) }));
      if (found) plugins.set(server.name, found);
      continue;
    }
    if (locked !== undefined && !constraints.allows(locked)) {
      throw new EngineError(
        "ENGINE_PROVIDER_UNAVAILABLE",
        `The lock file has ${address.toString()} ${locked.toString()}, and the configuration requires "${constraints.toString()}". ` +
          "Select another version with: stackwright init -upgrade",
      );
    }
    const offered = async (): Promise<Version | undefined> =>
      constraints.exactVersion ??
      constraints.newestMatching((await listPluginVersions(server, options)) ?? []);
    const version = locked ?? (await offered());
    if (version === undefined) {
      throw new EngineError(
        "ENGINE_PROVIDER_UNAVAILABLE",
        `No version of the plug-in ${address.toString()} can be selected: its server ${server.server} lists none that "${constraints.toString()}" allows. ` +
          'Require one exact version, such as version = "1.2.0".',
      );
    }
    const done = await installPulumiPlugin(server, version, {
      ...options,
      locked: hashesOf(version),
    });
    plugins.set(server.name, done);
    const [installed, ...signed] = done.hashes;
    if (installed !== undefined) {
      lock = lock.recordInstallation({ address, version, constraints, installed, signed });
    }
  }
  return { plugins, lock };
}

/** The servers with another in place of theirs, such as a folder for machines without a network. */
export function withServer(
  servers: ReadonlyMap<string, PluginServer>,
  server: string | undefined,
): ReadonlyMap<string, PluginServer> {
  if (server === undefined || server === "") return servers;
  return new Map(
    [...servers].map(([source, { versions: _versions, ...plugin }]) => [
      source,
      { ...plugin, server },
    ]),
  );
}
