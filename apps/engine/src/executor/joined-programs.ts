import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import {
  installPlugins,
  JOINED_PROVIDERS_FILE,
  type JoinedProvider,
  type PluginServer,
  type ProviderOrigin,
  parseJoinedProviders,
  parsePluginServers,
  pulumiOrigin,
  withServer,
} from "@stackwright/core";
import type { LockFile, ProviderRequirement } from "@stackwright/provider-source";

interface JoinedPrograms {
  /** Providers that are made of several programs, by full source. */
  readonly joined: ReadonlyMap<string, JoinedProvider>;
  /** Plug-ins of Pulumi that the configuration names a server for. */
  readonly plugins: ReadonlyMap<string, PluginServer>;
}

/** What the file beside a configuration says of its providers; nothing where there is none. `ENGINE_CONFIG_INVALID` for a wrong one. */
export async function readJoinedPrograms(directory: string): Promise<JoinedPrograms> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(join(directory, JOINED_PROVIDERS_FILE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return { joined: new Map(), plugins: new Map() };
  }
  return {
    joined: await parseJoinedProviders(bytes),
    plugins: await parsePluginServers(bytes),
  };
}

/**
 * Plug-ins of Pulumi for a job: those in the folders of the operator, and those of the operator's plug-in server, which are installed by
 * the lock file of the configuration. Servers that a configuration names are not asked: which programs a worker executes is for its
 * operator to say.
 */
export async function jobPulumiOrigin({
  requirements,
  plugins,
  lock,
  folder,
  env,
  environment,
  signal,
}: {
  readonly requirements: readonly ProviderRequirement[];
  readonly plugins: JoinedPrograms["plugins"];
  readonly lock: LockFile;
  /** Where they are installed for the project. */
  readonly folder: string;
  /** That of the worker, with what the operator decides. */
  readonly env: NodeJS.ProcessEnv;
  /** That of programs: nothing else reaches them. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}): Promise<ProviderOrigin> {
  const { STACKWRIGHT_PULUMI_PLUGINS = "", STACKWRIGHT_PULUMI_SERVER: server = "" } = env;
  const installed =
    server === "" || plugins.size === 0
      ? new Map()
      : (
          await installPlugins({
            requirements,
            servers: withServer(plugins, server),
            lock,
            directory: folder,
            cwd: folder,
            signal,
          })
        ).plugins;
  const own = Object.keys(process.env).map((name) => [name, undefined] as const);
  return pulumiOrigin({
    installed,
    directories: STACKWRIGHT_PULUMI_PLUGINS.split(delimiter).filter((part) => part !== ""),
    host: { env: { ...Object.fromEntries(own), ...environment } },
  });
}
