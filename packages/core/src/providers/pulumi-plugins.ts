import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Version } from "@stackwright/provider-source";

/** A program of the Pulumi protocol that was found on this machine. */
export interface PulumiPlugin {
  readonly command: string;
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
    return [{ command: join(directory, entry, program), version }];
  });
  const candidates: readonly PulumiPlugin[] = [
    ...(entries.has(program) ? [{ command: join(directory, program), version: undefined }] : []),
    ...installed.toSorted((a, b) => Version.compare(b.version, a.version)),
  ];
  const present = await Promise.all(candidates.map(async ({ command }) => isFile(command)));
  return candidates.filter((_plugin, i) => present[i]);
}

/** A version as programs and folders write it; undefined for what is none. */
export function readVersion(text: string): Version | undefined {
  try {
    return Version.parse(text.replace(/^v/, ""));
  } catch {
    return undefined;
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
