import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import {
  mkdir,
  mkdtempDisposable,
  open,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { launchProvider } from "@stackwright/mux/host";
import { packTarball, type TarballEntry } from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { printable, printableLines } from "../terminal/printable.ts";
import { bundleModule } from "./bundle-module.ts";
import { readProviderProject } from "./project-file.ts";
import { releasePlatforms, releaseVersion } from "./release-parts.ts";

interface PulumiPackageOptions {
  readonly version?: string;
  readonly platform: readonly string[];
  /** The folder of the archives. */
  readonly out?: string;
  /** Whether what was packed is started, for its schema. */
  readonly start: boolean;
}

interface Plugin {
  readonly name: string;
  readonly version: string;
  readonly isScript: boolean;
  readonly entries: readonly TarballEntry[];
}

const PROGRAM_PREFIX = "pulumi-resource-";
/** As Pulumi names its packages. */
const NAME = /^[a-z][a-z0-9-]*$/;
const MODULE = "provider.mjs";
/** What plug-ins bring along, where the project has it. */
const EXTRAS = ["LICENSE", "README.md"];
/** A large program is read from the disk when it is first started. */
const START_MS = 60_000;

/**
 * Makes the archives of a plug-in of Pulumi, `pulumi-resource-NAME-vVERSION-OS-ARCH.tar.gz`, as plug-in servers have them: of the provider of the
 * folder, bundled into one file, or of a program of Pulumi's protocol. The same provider makes the same bytes.
 *
 * Source: Pulumi's plug-in servers and its plug-in cache, where the archive is unpacked into `resource-NAME-vVERSION`.
 */
export async function packagePulumiPlugin(
  program: string | undefined,
  options: PulumiPackageOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { directory, terminal, signal } = context;
  const plugin =
    program === undefined
      ? await packProject(options, context)
      : await packProgram(program, options, context);
  const { name, version, isScript, entries } = plugin;
  const platforms = releasePlatforms(options.platform, isScript);
  const windows = isScript && platforms.find(({ os }) => os === "windows");
  if (windows) {
    throw new CommandError(
      `A script does not run as a plug-in on Windows (${windows.toString()}).`,
      {
        advice:
          "Name other platforms, or pack a binary: stackwright provider package --pulumi PROGRAM",
      },
    );
  }
  if (!isScript && platforms.length > 1) {
    throw new CommandError(
      `A binary is for one platform, and these were named: ${platforms.map(String).join(", ")}.`,
      {
        advice:
          "Name the platform that it was built for, and pack the binary of each other platform by a command of its own.",
      },
    );
  }
  const found = options.start ? await tryPlugin(plugin, context) : undefined;
  const folder = resolve(directory, options.out ?? "dist");
  await mkdir(folder, { recursive: true });
  const checksums: Record<string, string> = {};
  for (const { os, arch } of platforms) {
    const file = join(folder, `${PROGRAM_PREFIX}${name}-v${version}-${os}-${arch}.tar.gz`);
    checksums[`${os}-${arch}`] = await writeTarball(file, entries, signal);
    terminal.write(`Packed ${printable(relative(directory, file) || basename(file))}\n`);
  }
  terminal.write(
    found === undefined
      ? "It was not started, so its schema is not known.\n"
      : `It declares ${found.resources} resources and ${found.functions} functions.\n`,
  );
  terminal.write(useText(name, version, checksums, relative(directory, folder) || "."));
  return EXIT.ok;
}

async function packProject(
  { version: named }: PulumiPackageOptions,
  context: CommandContext,
): Promise<Plugin> {
  const { directory, name, version: own, pulumiModule } = await readProviderProject(context);
  const version = releaseVersion(named ?? own);
  requireName(name);
  await requireFile(
    directory,
    pulumiModule,
    `Name the module that serves it in Pulumi's protocol as "pulumi" in stackwright.provider.json; provider new writes one.`,
  );
  const bundle = await bundleModule(pulumiModule, { directory, fileName: MODULE });
  return {
    name,
    version,
    isScript: true,
    entries: [
      entryOf(`${PROGRAM_PREFIX}${name}`, Buffer.from(launcherOf(version)), true),
      ...bundle.map(({ path, content }) => entryOf(path, content as Uint8Array, false)),
      ...(await extrasOf(directory)),
    ],
  };
}

/**
 * Node takes the end of a name such as `pulumi-resource-notes` for no module, and runs it as CommonJS: so the module has a name of its own. It
 * stands beside the program itself, whatever links lead there; the `readlink` of each system reads one link at a time.
 */
function launcherOf(version: string): string {
  return `#!/bin/sh
program=$0
while [ -L "$program" ]; do
  target=$(readlink "$program")
  case $target in
    /*) program=$target ;;
    *) program=$(dirname "$program")/$target ;;
  esac
done
PROVIDER_VERSION=${version} exec node "$(dirname "$program")/${MODULE}" "$@"
`;
}

async function packProgram(
  program: string,
  { version: named }: PulumiPackageOptions,
  { directory }: CommandContext,
): Promise<Plugin> {
  const version = releaseVersion(named);
  const { path, size } = await requireFile(
    directory,
    program,
    "Build it first, and name the file.",
  );
  const file = basename(path);
  const name = file.startsWith(PROGRAM_PREFIX)
    ? file.slice(PROGRAM_PREFIX.length).replace(/\.exe$/, "")
    : "";
  requireName(name, `The program "${printable(file)}" is not named after a package.`);
  await using handle = await open(path);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  return {
    name,
    version,
    isScript: buffer.subarray(0, bytesRead).toString("latin1") === "#!",
    entries: [
      { path: file, executable: true, size, content: () => createReadStream(path) },
      ...(await extrasOf(directory)),
    ],
  };
}

function requireName(
  name: string,
  problem = `"${printable(name)}" is not the name of a package of Pulumi.`,
): void {
  if (NAME.test(name)) return;
  throw new CommandError(problem, {
    advice: `A program is ${PROGRAM_PREFIX}NAME, and a name has small letters, digits and "-".`,
  });
}

async function requireFile(
  directory: string,
  named: string,
  advice: string,
): Promise<{ readonly path: string; readonly size: number }> {
  const path = resolve(directory, named);
  const stats = await stat(path).catch((cause: unknown) => {
    throw new CommandError(`There is no file "${printable(named)}".`, { cause, advice });
  });
  if (!stats.isFile()) throw new CommandError(`"${printable(named)}" is not a file.`);
  return { path, size: stats.size };
}

async function extrasOf(directory: string): Promise<readonly TarballEntry[]> {
  const entries: TarballEntry[] = [];
  for (const name of EXTRAS) {
    const content = await readFile(join(directory, name)).catch(() => undefined);
    if (content !== undefined) entries.push(entryOf(name, content, false));
  }
  return entries;
}

function entryOf(path: string, bytes: Uint8Array, executable: boolean): TarballEntry {
  return {
    path,
    executable,
    size: bytes.byteLength,
    async *content() {
      yield bytes;
    },
  };
}

/** The archive appears whole or not at all; returns its SHA-256. */
async function writeTarball(
  file: string,
  entries: readonly TarballEntry[],
  signal: AbortSignal,
): Promise<string> {
  const partial = `${file}.${process.pid}.tmp`;
  const hash = createHash("sha256");
  try {
    await pipeline(
      packTarball(entries, { signal }),
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(partial),
    );
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  return hash.digest("hex");
}

/** Starts what is packed as it is, in a folder where nothing else is, and reads its schema. */
async function tryPlugin(
  { name, version, entries }: Plugin,
  { signal }: CommandContext,
): Promise<{ readonly resources: number; readonly functions: number }> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-plugin-"));
  for (const { path, executable, content } of entries) {
    await writeFile(join(scratch.path, path), content(), { mode: executable ? 0o755 : 0o644 });
  }
  const [program] = entries;
  const lines: string[] = [];
  let text: string;
  try {
    await using launched = await launchProvider({
      command: join(scratch.path, program?.path ?? ""),
      cwd: scratch.path,
      startTimeoutMs: START_MS,
      onLine: ({ text: line }) => lines.push(line),
      signal,
    });
    const request = { version: 0, subpackageName: "", subpackageVersion: "" };
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
    ({ schema: text } = await launched.provider.getSchema(request, { signal: deadline }));
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `The packed plug-in does not start: ${printableLines([why, ...lines.slice(-10)].join("\n"))}`,
      {
        cause: error,
        advice:
          "It was started in an empty folder. A program of another platform than this one is packed with --no-start.",
      },
    );
  }
  const schema = readSchema(text);
  if (schema.name !== name || (schema.version !== undefined && schema.version !== version)) {
    const said = [schema.name, schema.version].filter((part) => part !== undefined).join(" ");
    throw new CommandError(
      `The schema of the plug-in is that of ${printable(said)}, and not of ${name} ${version}.`,
      {
        advice:
          "Pass the name of the package, and PROVIDER_VERSION as its version, to toPulumiProvider.",
      },
    );
  }
  return schema;
}

function readSchema(text: string) {
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (cause) {
    throw new CommandError("The schema of the plug-in is not JSON.", { cause });
  }
  const { name, version, resources, functions } = (schema ?? {}) as Record<string, unknown>;
  return {
    name: typeof name === "string" ? name : "",
    version: typeof version === "string" && version !== "" ? version : undefined,
    resources: Object.keys((resources as object | undefined) ?? {}).length,
    functions: Object.keys((functions as object | undefined) ?? {}).length,
  };
}

function useText(
  name: string,
  version: string,
  checksums: Readonly<Record<string, string>>,
  folder: string,
): string {
  const entry = {
    plugins: {
      [`stackwright.local/pulumi/${name}`]: {
        server: "https://plugins.example.com/v${VERSION}",
        checksums,
      },
    },
  };
  const lines = [
    "",
    "Next:",
    "  1. serve the archives at a URL, or copy them to a folder",
    `  2. name it in stackwright.providers.json beside the template (the folder ${printable(folder)} works, too):`,
    ...JSON.stringify(entry, undefined, 2)
      .split("\n")
      .map((line) => `     ${line}`),
    `  3. in the template: source = "stackwright.local/pulumi/${name}", version = "${version}"`,
    `  or with Pulumi: pulumi plugin install resource ${name} ${version} --server URL`,
  ];
  return lines.map((line) => `${line}\n`).join("");
}
