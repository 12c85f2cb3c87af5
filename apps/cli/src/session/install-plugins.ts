import { homedir } from "node:os";
import { join } from "node:path";
import { type InstalledPlugins, installPlugins, withServer } from "@stackwright/core";
import {
  LOCK_FILE_NAME,
  LockFile,
  readLockFile,
  writeLockFile,
} from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { attachedPlugins } from "./attached-providers.ts";
import { allRequirementsOf, openDigests } from "./install.ts";
import type { Project } from "./project.ts";

interface InstallPluginsRequest {
  /** Ignores the lock file and selects versions again. @default false */
  readonly upgrade?: boolean;
  /** The lock file is written; otherwise a difference is an error. @default true */
  readonly writesLock?: boolean;
  /** Sources that are needed although the configuration does not name them. */
  readonly recorded?: Iterable<string>;
  /** False: nothing is brought, and nothing is written. @default true */
  readonly brings?: boolean;
  /** Plug-ins that did not change since they were read are not read again. @default false */
  readonly remembersDigests?: boolean;
}

/**
 * Installs the plug-ins that a configuration requires and that have a server, into the home of Pulumi, and updates the lock file.
 * Installed plug-ins are only checked.
 *
 * @returns by name
 */
export async function installPluginsOf(
  project: Project,
  context: CommandContext,
  {
    upgrade = false,
    writesLock = true,
    recorded = [],
    brings = true,
    remembersDigests = false,
  }: InstallPluginsRequest = {},
): Promise<InstalledPlugins["plugins"]> {
  const { directory, env, signal } = context;
  const attached = await attachedPlugins(env);
  const servers = new Map([...project.plugins].filter(([, { name }]) => !attached.has(name)));
  if (servers.size === 0) return new Map();
  const path = join(directory, LOCK_FILE_NAME);
  const { locks: lock } = (await readLockFile(path)) ?? { locks: LockFile.empty };
  const { plugins, lock: after } = await installPlugins({
    requirements: allRequirementsOf(project, recorded),
    servers: withServer(servers, env.STACKWRIGHT_PULUMI_SERVER),
    lock,
    directory: join(pulumiHome(env), "plugins"),
    cwd: directory,
    upgrade,
    brings,
    digestMemory: remembersDigests ? await openDigests(env) : undefined,
    signal,
  });
  if (after.toString() === lock.toString()) return plugins;
  if (!writesLock) {
    throw new CommandError(`The lock file of providers "${LOCK_FILE_NAME}" would change.`, {
      advice: "Run stackwright init without -lockfile=readonly, and commit the file.",
    });
  }
  await writeLockFile(path, after);
  return plugins;
}

/** One line for each plug-in that was brought just now. */
export function pluginLines(plugins: InstalledPlugins["plugins"]): string[] {
  return [...plugins].flatMap(([name, { version, path, isNew }]) =>
    isNew ? [`Installed the plug-in ${name} ${version.toString()} in ${path}`] : [],
  );
}

/** Where Pulumi keeps plug-ins and what comes with its command. */
export function pulumiHome(env: NodeJS.ProcessEnv): string {
  const { PULUMI_HOME, HOME } = env;
  return PULUMI_HOME === undefined || PULUMI_HOME === ""
    ? join(HOME ?? homedir(), ".pulumi")
    : PULUMI_HOME;
}
