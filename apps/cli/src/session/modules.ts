import { join } from "node:path";
import {
  type InstalledModules,
  type InstallMode,
  MODULE_LOCK_NAME,
  ModuleInstaller,
  moduleCacheFolder,
  readModuleLock,
  writeModuleLock,
  writtenDataFolder,
} from "@stackwright/core";
import type { BundleFiles } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

/** What a command does about modules that are not installed. */
export interface ModuleOptions {
  /** @default "missing" */
  readonly mode?: InstallMode;
  /** Nothing is fetched over the network. @default `STACKWRIGHT_OFFLINE` */
  readonly offline?: boolean;
  /** The lock file is written; otherwise a difference is an error. @default true */
  readonly writesLock?: boolean;
  /** Locks what the reference command installed as well. @default false */
  readonly adopts?: boolean;
  /** The caller says what was installed. @default false */
  readonly quiet?: boolean;
  /** The folder of test files, which are loaded with the modules of their runs. @default they are not loaded */
  readonly testFolder?: string;
}

/** The modules of the folder of a command: where they are, and how they get there. */
interface CommandModules {
  readonly packages: ModuleInstaller;
  /** Writes down what a tree has that was loaded with the packages. */
  finish(
    tree: Parameters<ModuleInstaller["finish"]>[0],
    isComplete: boolean,
    tests?: Parameters<ModuleInstaller["finish"]>[2],
  ): Promise<InstalledModules>;
}

export async function openModules(
  files: BundleFiles,
  context: CommandContext,
  options: ModuleOptions = {},
): Promise<CommandModules> {
  const { directory, env, signal } = context;
  const path = join(directory, MODULE_LOCK_NAME);
  const lock = await readModuleLock(path);
  const offline = options.offline ?? isSet(env.STACKWRIGHT_OFFLINE);
  const open = async () => {
    const [{ PackageFetcher }, { loadCliConfiguration }] = await Promise.all([
      import("@stackwright/core/modules"),
      import("@stackwright/tfplugin/install"),
    ]);
    const configuration = await loadCliConfiguration({ env, cwd: directory });
    const cache = moduleCacheFolder(env);
    return PackageFetcher.open({ cache, env, configuration, signal, offline });
  };
  let fetcher: ReturnType<typeof open> | undefined;
  const packages = new ModuleInstaller({
    files,
    directory,
    dataFolder: writtenDataFolder(context),
    mode: options.mode ?? "missing",
    lock,
    adopts: options.adopts ?? false,
    fetcher: () => (fetcher ??= open()),
  });
  return {
    packages,
    async finish(tree, isComplete, tests) {
      const result = await packages.finish(tree, isComplete, tests);
      if (result.lock.toString() === lock.toString()) return result;
      if (options.writesLock === false) {
        throw new CommandError(`The lock file of modules "${MODULE_LOCK_NAME}" would change.`, {
          advice: "Run stackwright init without -lockfile=readonly, and commit the file.",
        });
      }
      await writeModuleLock(path, result.lock);
      return result;
    },
  };
}

/** One line for each module that was installed just now. */
export function installedModuleLines({ installed }: Pick<InstalledModules, "installed">): string[] {
  return installed.map(
    ({ key, source, version }) =>
      `Installed ${key.startsWith("test.") ? key : `module.${key.replaceAll(".", ".module.")}`} from ${source}${version === undefined ? "" : ` ${version}`}`,
  );
}

function isSet(text: string | undefined): boolean {
  return text !== undefined && text !== "" && text !== "0" && text !== "false";
}
