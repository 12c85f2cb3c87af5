import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Version } from "@stackwright/provider-source";
import { isFile, type RuntimeProgram, runtimeProgram } from "./plugin-runtimes.ts";

/** A program of the Pulumi protocol that was found on this machine. */
export interface PulumiPlugin extends RuntimeProgram {
  /** That of the folder it is installed in; undefined for a program outside of such a folder. */
  readonly version: Version | undefined;
}

/**
 * The programs with this name in some folders, in the order of the folders. Each folder may hold a program `pulumi-resource-<name>`,
 * and installations as Pulumi makes them: `resource-<name>-v<version>/pulumi-resource-<name>`, the newest first. An installation
 * that is not complete is passed over.
 *
 * Source: Pulumi's plug-in cache.
 */
export async function findPulumiPlugins(
  name: string,
  directories: readonly string[],
): Promise<readonly PulumiPlugin[]> {
  const found = await Promise.all(directories.map(async (directory) => inFolder(name, directory)));
  return found.flat();
}

async function inFolder(name: string, directory: string): Promise<readonly PulumiPlugin[]> {
  const entries = new Set(await readdir(directory).catch(() => []));
  const program = `pulumi-resource-${name}`;
  const prefix = `resource-${name}-v`;
  const installed = [...entries].flatMap((entry) => {
    const version = entry.startsWith(prefix) ? readVersion(entry.slice(prefix.length)) : undefined;
    // Pulumi leaves this mark next to a folder while it fills it.
    if (version === undefined || entries.has(`${entry}.partial`)) return [];
    return [{ folder: join(directory, entry), version }];
  });
  const own = join(directory, program);
  const candidates = await Promise.all(
    installed
      .toSorted((a, b) => Version.compare(b.version, a.version))
      .map(async ({ folder, version }) => {
        const found = await pluginProgram(folder, name);
        return found === undefined ? [] : [{ ...found, version }];
      }),
  );
  const single = entries.has(program) && (await isFile(own));
  return [...(single ? [{ command: own, version: undefined }] : []), ...candidates.flat()];
}

/**
 * How the plug-in in a folder is started: a program of its name, or a program in a language that `PulumiPlugin.yaml` names the runtime
 * of. Undefined where there is none of these.
 */
export async function pluginProgram(
  folder: string,
  name: string,
): Promise<RuntimeProgram | undefined> {
  const command = join(folder, `pulumi-resource-${name}`);
  if (await isFile(command)) return { command };
  const found = await runtimeProgram(folder);
  return found !== undefined && "command" in found ? found : undefined;
}

/** Why none of the installations of a plug-in can be started, as far as these say so. */
export async function refusedPlugins(
  name: string,
  directories: readonly string[],
): Promise<readonly string[]> {
  const reasons = directories.map(async (directory) => {
    const entries = await readdir(directory).catch(() => []);
    const folders = entries.filter((entry) => entry.startsWith(`resource-${name}-v`));
    return Promise.all(folders.map(async (entry) => runtimeProgram(join(directory, entry))));
  });
  const found = (await Promise.all(reasons)).flat();
  return [...new Set(found.flatMap((one) => (one && "refused" in one ? [one.refused] : [])))];
}

/** A version as programs and folders write it; undefined for what is none. */
export function readVersion(text: string): Version | undefined {
  try {
    return Version.parse(text.replace(/^v/, ""));
  } catch {
    return undefined;
  }
}
