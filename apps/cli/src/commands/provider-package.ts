import { createReadStream } from "node:fs";
import { mkdir, open, rm, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { isFgBridgeError } from "@stackwright/fg-bridge";
import {
  FUNCTION_MANIFEST,
  FUNCTION_PLATFORMS,
  type FunctionManifest,
  type FunctionPlatformName,
  type FunctionRun,
  functionFiles,
  isFunctionPlatformName,
  type PackagedSchema,
  programProblem,
  sizeProblem,
} from "@stackwright/fg-bridge/package";
import {
  type ArchiveSummary,
  isStrictVersion,
  type PackEntry,
  writeArchive,
} from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { bundleModule } from "../provider-kit/bundle-module.ts";
import { packagePulumiPlugin } from "../provider-kit/package-pulumi-plugin.ts";
import { readProviderProject } from "../provider-kit/project-file.ts";
import { tryPackage } from "../provider-kit/try-package.ts";
import { printable, printableLines } from "../terminal/printable.ts";

export interface ProviderPackageOptions {
  /** The platform of a function. */
  readonly for?: string;
  /** A plug-in of Pulumi in place of a function. */
  readonly pulumi: boolean;
  /** Platforms of a plug-in. */
  readonly platform: readonly string[];
  readonly out?: string;
  readonly version?: string;
  /** Variables that a program gets. */
  readonly env: readonly string[];
  /** Whether what was packed is started, for its schema. */
  readonly start: boolean;
}

/** What is packed. */
interface Packed {
  readonly name: string;
  readonly version: string | undefined;
  readonly run: FunctionRun;
  readonly content: readonly PackEntry[];
  readonly unpackedBytes: number;
}

/** The file that the bundle of a function begins with. */
const FUNCTION_MODULE = "function.mjs";
const PROGRAM = "provider";
const HEAD_BYTES = 64;
/** At the end of an archive, where its files are listed. */
const LIST_BYTES = 64 * 1024;

/**
 * Makes an archive that a function platform takes: of the provider of the folder, bundled into one file, or of a program of the
 * plug-in protocol; or the archives of a plug-in of Pulumi. The same provider makes the same bytes.
 */
export async function providerPackage(
  program: string | undefined,
  options: ProviderPackageOptions,
  context: CommandContext,
): Promise<ExitCode> {
  if (options.pulumi) {
    if (options.for !== undefined || options.env.length > 0) {
      throw new CommandError("--for and --env are for functions: a plug-in has all variables.");
    }
    return packagePulumiPlugin(program, options, context);
  }
  if (options.platform.length > 0) {
    throw new CommandError("--platform is for plug-ins of Pulumi (--pulumi).");
  }
  const platform = platformOf(options.for);
  const packed =
    program === undefined
      ? await packProject(options, context)
      : await packProgram(program, platform, options, context);
  const { name, version, run } = packed;
  const manifest: FunctionManifest = {
    format: 1,
    name,
    ...(version !== undefined && { version }),
    platform,
    run,
  };
  requireSize(platform, { archiveBytes: 0, unpackedBytes: packed.unpackedBytes });
  const schema = options.start
    ? await schemaOf(await functionFiles(manifest, packed.content), context)
    : undefined;
  const files = await functionFiles(
    { ...manifest, ...(schema !== undefined && { schema }) },
    packed.content,
  );
  const file = resolve(
    context.directory,
    options.out ??
      join(
        "dist",
        `${[name, version, platform].filter((part) => part !== undefined).join("-")}.zip`,
      ),
  );
  const summary = await write(file, files, packed.unpackedBytes, platform, context);
  say({ file, platform, name, schema, summary, isProject: program === undefined }, context);
  return EXIT.ok;
}

function platformOf(name: string | undefined): FunctionPlatformName {
  if (name !== undefined && isFunctionPlatformName(name)) return name;
  const known = Object.entries(FUNCTION_PLATFORMS).map(([one, { title }]) => `${one} (${title})`);
  const problem =
    name === undefined
      ? "It is not said what is to be made."
      : `"${printable(name)}" is not a platform of functions.`;
  throw new CommandError(problem, {
    advice: `Name one of these with --for: ${known.join(", ")}; or --pulumi for a plug-in of Pulumi.`,
  });
}

async function packProject(
  { version: named, env }: ProviderPackageOptions,
  context: CommandContext,
): Promise<Packed> {
  const project = await readProviderProject(context);
  const { directory, name, functionModule } = project;
  if (env.length > 0) {
    throw new CommandError("--env is for programs: a module of the project has all variables.");
  }
  const version = named ?? project.version;
  requireVersion(version);
  await requireFile(directory, functionModule);
  const content = await bundleModule(functionModule, { directory, fileName: FUNCTION_MODULE });
  return {
    name,
    version,
    run: { module: FUNCTION_MODULE },
    content,
    unpackedBytes: bytesOf(content),
  };
}

async function packProgram(
  program: string,
  platform: FunctionPlatformName,
  { version, env }: ProviderPackageOptions,
  { directory }: CommandContext,
): Promise<Packed> {
  requireVersion(version);
  const { path, size } = await requireFile(directory, program);
  const problem = programProblem(FUNCTION_PLATFORMS[platform], await headOf(path));
  if (problem !== undefined) {
    throw new CommandError(`"${printable(program)}" cannot be packed: ${problem}.`, {
      advice: "Build it for the platform; in Go: CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build",
    });
  }
  const wrong = env.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (wrong !== undefined) {
    throw new CommandError(`"${printable(wrong)}" is not the name of a variable.`);
  }
  return {
    name: basename(program)
      .replace(/^terraform-provider-/, "")
      .replace(/_v\d.*$/, ""),
    version,
    run: { provider: PROGRAM, environment: env.toSorted() },
    content: [{ path: PROGRAM, mode: 0o755, content: () => createReadStream(path) }],
    unpackedBytes: size,
  };
}

function requireVersion(version: string | undefined): void {
  if (version === undefined || isStrictVersion(version)) return;
  throw new CommandError(`"${printable(version)}" is not a version.`, {
    advice: "Write one such as 1.2.0 into package.json, or name it with --version.",
  });
}

async function requireFile(
  directory: string,
  named: string,
): Promise<{ readonly path: string; readonly size: number }> {
  const path = resolve(directory, named);
  const stats = await stat(path).catch((cause: unknown) => {
    throw new CommandError(`There is no file "${printable(named)}".`, {
      cause,
      advice:
        'Name the module that serves the provider as "function" in stackwright.provider.json, or a program behind the command.',
    });
  });
  if (!stats.isFile()) throw new CommandError(`"${printable(named)}" is not a file.`);
  return { path, size: stats.size };
}

async function headOf(path: string): Promise<Uint8Array> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

function bytesOf(content: readonly PackEntry[]): number {
  return content.reduce(
    (sum, one) => sum + (typeof one.content === "function" ? 0 : one.content.byteLength),
    0,
  );
}

function requireSize(
  platform: FunctionPlatformName,
  sizes: { readonly archiveBytes: number; readonly unpackedBytes: number },
): void {
  const problem = sizeProblem(FUNCTION_PLATFORMS[platform], sizes);
  if (problem === undefined) return;
  throw new CommandError(`The function is too large for ${platform}: ${problem}.`, {
    advice: "Take out what it does not need (in Go: -ldflags='-s -w'), or use --for container.",
  });
}

async function schemaOf(
  files: readonly PackEntry[],
  { signal }: CommandContext,
): Promise<PackagedSchema> {
  try {
    return await tryPackage(files, { signal });
  } catch (error) {
    if (!isFgBridgeError(error)) throw error;
    throw new CommandError(
      `The packed function cannot be used: ${printableLines(error.message)}.`,
      {
        cause: error,
        advice:
          "It was started in an empty folder. A program of another platform than this one is packed with --no-start.",
      },
    );
  }
}

/** Refuses to replace what is not an earlier archive of a function: the file may be named by mistake. */
async function requireReplaceable(path: string): Promise<void> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined) return;
  if (stats.isFile() && (stats.size === 0 || (await isFunctionArchive(path, stats.size)))) return;
  throw new CommandError(`"${printable(path)}" exists and is not an archive of a function.`, {
    advice: "Name another file with --out, or remove it first.",
  });
}

/** Whether a file begins as an archive, and its list of contents at its end names the manifest. */
async function isFunctionArchive(path: string, size: number): Promise<boolean> {
  if (Buffer.from(await headOf(path)).toString("latin1", 0, 2) !== "PK") return false;
  await using file = await open(path);
  const length = Math.min(size, LIST_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.subarray(0, bytesRead).includes(FUNCTION_MANIFEST);
}

/** Nothing that a platform would refuse is left behind. */
async function write(
  file: string,
  files: readonly PackEntry[],
  contentBytes: number,
  platform: FunctionPlatformName,
  { signal }: CommandContext,
): Promise<ArchiveSummary> {
  await requireReplaceable(file);
  await mkdir(dirname(file), { recursive: true });
  const summary = await writeArchive(file, files, { signal });
  try {
    requireSize(platform, { archiveBytes: summary.sizeBytes, unpackedBytes: contentBytes });
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
  return summary;
}

function say(
  made: {
    readonly file: string;
    readonly platform: FunctionPlatformName;
    readonly name: string;
    readonly schema: PackagedSchema | undefined;
    readonly summary: ArchiveSummary;
    readonly isProject: boolean;
  },
  { terminal, directory }: CommandContext,
): void {
  const { file, platform, name, schema, summary, isProject } = made;
  const { title, maxConsoleBytes } = FUNCTION_PLATFORMS[platform];
  const shown = printable(relative(directory, file) || file);
  const kib = Math.ceil(summary.sizeBytes / 1024);
  terminal.write(`Packed ${name} as ${title}: ${shown} (${kib} KiB, ${summary.zh})\n`);
  if (schema === undefined) terminal.write("It was not started, so its schema is not known.\n");
  else {
    const { resources, dataSources, notCarried, sha256 } = schema;
    terminal.write(
      `It declares ${resources.length} resources and ${dataSources.length} data sources (schema ${sha256.slice(0, 16)}).\n`,
    );
    if (notCarried.length > 0) {
      terminal.write(`Functions do not carry: ${notCarried.map(printable).join(", ")}\n`);
    }
  }
  const steps = STEPS[platform]({
    shown,
    name,
    isLarge: summary.sizeBytes > maxConsoleBytes,
  });
  const urn = `urn:fss:REGION:PROJECT:function:default:${name}:latest`;
  const publish = isProject
    ? `stackwright provider publish --function ${urn}`
    : `stackwright provider publish --function ${urn}, in the project of the provider, or register it by the API`;
  const lines = ["", "Next:", ...[...steps, publish].map((step, at) => `  ${at + 1}. ${step}`)];
  terminal.write(lines.map((line) => `${line}\n`).join(""));
}

const JOURNAL_NOTE =
  "set JOURNAL to a folder that all instances share, where a create that is delivered twice must be recognized after a restart";

const STEPS: Readonly<
  Record<
    FunctionPlatformName,
    (made: {
      readonly shown: string;
      readonly name: string;
      readonly isLarge: boolean;
    }) => readonly string[]
  >
> = {
  functiongraph: ({ shown, name, isLarge }) => [
    `create the HTTP function ${name}, upload ${shown}${isLarge ? " by object storage (it is too large for the console)" : ""}`,
    "give it a timeout of 30 seconds or more, and no asynchronous retries",
    JOURNAL_NOTE,
  ],
  "functiongraph-event": ({ shown, name, isLarge }) => [
    `create the event function ${name} with Node.js 20.15 and the handler index.handler, upload ${shown}${isLarge ? " by object storage (it is too large for the console)" : ""}`,
    "give it a timeout of 30 seconds or more, and no asynchronous retries",
    'name it in the table of functions as "functionKind": "event", where no gateway is before it',
    JOURNAL_NOTE,
  ],
  container: ({ shown, name }) => [
    `unpack ${shown}, and build it: docker build -t ${name} FOLDER`,
    "run it with STACKWRIGHT_FUNCTION_TOKEN, behind TLS, port 8000",
    "name its address and token in the table of functions of the server, under its URN",
    JOURNAL_NOTE,
  ],
};
