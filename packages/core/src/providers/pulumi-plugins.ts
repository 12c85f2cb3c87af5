import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { Version } from "@stackwright/provider-source";

/** A program of the Pulumi protocol that was found on this machine. */
export interface PulumiPlugin {
  readonly command: string;
  /** Before those of the protocol. @default none */
  readonly args?: readonly string[];
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
 * How the plug-in in a folder is started: a program of its name, or a program for Node or Python that `PulumiPlugin.yaml` names the
 * runtime of. Undefined where there is none of these.
 *
 * Source: Pulumi's plug-ins in languages.
 */
export async function pluginProgram(
  folder: string,
  name: string,
): Promise<Pick<PulumiPlugin, "command" | "args"> | undefined> {
  const command = join(folder, `pulumi-resource-${name}`);
  if (await isFile(command)) return { command };
  const file = await readFile(join(folder, "PulumiPlugin.yaml"), "utf8").catch(() => "");
  const runtime = /^runtime:[ \t]*(?:\r?\n(?:[ \t]+.*\r?\n)*?[ \t]+name:[ \t]*)?["']?(\w+)/m.exec(
    file,
  )?.[1];
  if (runtime === "python") return pythonProgram(folder, file);
  if (runtime !== "nodejs") return undefined;
  for (const main of [await mainOf(folder), "index.js", "index.ts"]) {
    if (main !== undefined && (await isFile(join(folder, main)))) {
      return { command: process.execPath, args: [join(folder, main)] };
    }
  }
  return undefined;
}

/** The module `__main__` of the folder, by the Python of the virtual environment that the plug-in names, else that of `PATH`. */
async function pythonProgram(
  folder: string,
  file: string,
): Promise<Pick<PulumiPlugin, "command" | "args"> | undefined> {
  if (!(await isFile(join(folder, "__main__.py")))) return undefined;
  const named = /^\s+virtualenv:\s*["']?([^\s"'#]+)/m.exec(file)?.[1];
  const own = named === undefined ? undefined : join(folder, named, "bin", "python");
  const command = own !== undefined && (await isFile(own)) ? own : "python3";
  return { command, args: ["-u", folder] };
}

/** The file that a package says is its program. */
async function mainOf(folder: string): Promise<string | undefined> {
  try {
    const { main } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
      readonly main?: unknown;
    };
    return typeof main === "string" ? main : undefined;
  } catch {
    return undefined;
  }
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
