import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { PackageId, ProviderAddress, Version } from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";
import type { CliConfiguration, MethodScope } from "./cli-configuration.ts";
import { filesystemMirror } from "./filesystem-mirror.ts";
import type { InstallHttpClient } from "./http-client.ts";
import { networkMirror } from "./network-mirror.ts";
import type { PackageInstallationSource, PackageOffer } from "./provider-source.ts";
import { directRegistry } from "./registry.ts";

/** Where providers may come from, in order, and which of them may. */
export interface ScopedInstallationSource {
  readonly source: PackageInstallationSource;
  readonly mayHave: (address: ProviderAddress) => boolean | Promise<boolean>;
}

interface SourcesContext {
  readonly http: InstallHttpClient;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of the template. */
  readonly cwd: string;
}

/**
 * The sources that a configuration names; without any, what the command does then: folders that exist by convention,
 * and the registry for all providers that are in none of those.
 */
export function sourcesOf(
  { methods, hosts }: CliConfiguration,
  context: SourcesContext,
): readonly ScopedInstallationSource[] {
  const { http } = context;
  const direct = directRegistry({ http, hosts });
  if (methods === undefined) {
    const local = impliedFolders(context).map((path) => filesystemMirror(path));
    const isLocal = async (address: ProviderAddress): Promise<boolean> => {
      for (const source of local) {
        if ((await source.versions(address, undefined)) !== undefined) return true;
      }
      return false;
    };
    return [
      ...local.map((source) => ({ source, mayHave: () => true })),
      { source: direct, mayHave: async (address) => !(await isLocal(address)) },
    ];
  }
  return methods.map((method) => {
    const mayHave = (address: ProviderAddress): boolean => isInScope(method, address);
    switch (method.kind) {
      case "direct":
        return { source: direct, mayHave };
      case "filesystem_mirror":
        return { source: filesystemMirror(method.path), mayHave };
      case "network_mirror":
        return { source: networkMirror(method.url, http), mayHave };
      default:
        return method satisfies never;
    }
  });
}

/** Folders in which users, and distributions of the system, put providers by convention. */
function impliedFolders({ env, cwd }: SourcesContext): readonly string[] {
  const home = env.HOME === undefined || env.HOME === "" ? homedir() : env.HOME;
  const listed = (name: string, otherwise: string): readonly string[] =>
    (env[name] === undefined || env[name] === "" ? otherwise : env[name]).split(delimiter);
  const data = [
    ...listed("XDG_DATA_HOME", join(home, ".local/share")),
    ...listed("XDG_DATA_DIRS", ["/usr/local/share", "/usr/share"].join(delimiter)),
  ];
  const folders = [
    join(cwd, "terraform.d/plugins"),
    join(home, ".terraform.d/plugins"),
    ...data.map((folder) => join(folder, "terraform/plugins")),
  ];
  return [...new Set(folders)].filter((folder) => existsSync(folder));
}

function isInScope({ include, exclude }: MethodScope, address: ProviderAddress): boolean {
  const isIncluded = include === undefined || include.some((pattern) => pattern.matches(address));
  return isIncluded && !exclude.some((pattern) => pattern.matches(address));
}

/** What the sources that may have a provider say of it. */
interface FoundVersions {
  /** Each once, in the order of the sources. */
  readonly versions: readonly Version[];
  /** False where none of them has ever heard of the provider. */
  readonly isKnown: boolean;
  /** Names of those that were asked. */
  readonly asked: readonly string[];
}

/** All versions that the sources have of a provider. */
export async function findVersions(
  address: ProviderAddress,
  sources: readonly ScopedInstallationSource[],
  signal: AbortSignal | undefined,
): Promise<FoundVersions> {
  const found = new Map<string, Version>();
  const asked: string[] = [];
  let isKnown = false;
  for (const { source, mayHave } of sources) {
    if (!(await mayHave(address))) continue;
    asked.push(source.name);
    const versions = await source.versions(address, signal);
    if (versions !== undefined) isKnown = true;
    for (const version of versions ?? []) {
      const key = version.toString();
      if (!found.has(key)) found.set(key, version);
    }
  }
  return { versions: [...found.values()], isKnown, asked };
}

/**
 * The first offer of a package. `TFPLUGIN_PLATFORM_UNAVAILABLE` where no source has it, `TFPLUGIN_VERSION_UNAVAILABLE` where one gave
 * the version up.
 */
export async function findOffer(
  id: PackageId,
  sources: readonly ScopedInstallationSource[],
  signal: AbortSignal | undefined,
): Promise<PackageOffer> {
  const asked: string[] = [];
  for (const { source, mayHave } of sources) {
    if (!(await mayHave(id.address))) continue;
    const offer = await source.offer(id, signal);
    if (offer !== undefined) return offer;
    asked.push(source.name);
  }
  const what = `${id.address.toDisplay()} ${id.version.toString()} for ${id.platform.toString()}`;
  const text = `there is no package of ${what} in ${asked.join(", nor in ")}`;
  throw new TfpluginError("TFPLUGIN_PLATFORM_UNAVAILABLE", text, {
    provider: id.address.toString(),
  });
}
