import { existsSync, readdirSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join, relative, resolve } from "node:path";
import {
  type Configuration,
  createMeantSource,
  findBundleRoot,
  type InstalledModules,
  JOINED_PROVIDERS_FILE,
  type JoinedProvider,
  type LoadedSuite,
  loadConfiguration,
  loadSuite,
  type PluginServer,
  parseJoinedProviders,
  parsePluginServers,
} from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import type { Value } from "@stackwright/cty";
import {
  type BundleFiles,
  createDirectoryFiles,
  type Diagnostic,
  type EarlyValues,
  hasErrors,
  resolveVariables,
  type SourceRange,
  selectVariableFiles,
  type VariableConfig,
  type VariableValueOrigin,
} from "@stackwright/lang";
import { LOCK_FILE_NAME, LockFile, readLockFile } from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { wrapWords } from "../terminal/wrap-words.ts";
import { installedModuleLines, type ModuleOptions, openModules } from "./modules.ts";
import { stackName } from "./stack-name.ts";

/** A value or a file of values, as given on the command line; the later one wins. */
export type VariableInput =
  | { readonly kind: "var"; readonly text: string }
  | { readonly kind: "file"; readonly path: string };

/** How the configuration of a command is loaded. */
interface LoadOptions extends ModuleOptions {
  /** Values of variables, for what is evaluated before modules are loaded. @default those of the environment and of files */
  readonly inputs?: readonly VariableInput[];
  /** Values of variables that are settled, as those of a plan. */
  readonly values?: ReadonlyMap<string, Value>;
  /** The stack that the command names. */
  readonly stack?: string;
  /** The file that a plan is kept in: it is not a part of the configuration, also where it lies among the files of that. */
  readonly planFile?: string;
}

/** The configuration of the folder that a command works in. */
export interface Project {
  readonly directory: string;
  /** Its modules, as they are installed. */
  readonly modules: InstalledModules;
  readonly files: BundleFiles;
  readonly configuration: Configuration;
  /** Its providers that are made of several programs, by full source. */
  readonly joined: ReadonlyMap<string, JoinedProvider>;
  /** Where plug-ins are installed from, by full source. */
  readonly plugins: ReadonlyMap<string, PluginServer>;
  /** Its test files; undefined where the command does not load them. */
  readonly tests?: LoadedSuite;
}

/**
 * Loads the configuration of the directory. Errors in it are its diagnostics.
 *
 * @param further files by name that count as if they lay in the folder
 * @param options what is done about modules that are not installed, and what is known before they are loaded
 */
export async function loadProject(
  context: CommandContext,
  further: ReadonlyMap<string, string> = new Map(),
  options: LoadOptions = {},
): Promise<Project> {
  const { directory } = context;
  const stats = statSync(directory, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) {
    throw new CommandError(`There is no folder "${directory}".`);
  }
  const { joined, plugins } = await readJoinedProviders(directory);
  const files = withFurther(filesOf(context, options.planFile), further);
  const installation = await openModules(files, context, options);
  const configuration = await loadConfiguration(files, {
    packages: installation.packages,
    early: await earlyValues(options, context),
    meantSource: await meantSource(context),
  });
  const tests =
    options.testFolder === undefined
      ? undefined
      : await loadSuite(files, { folder: options.testFolder, packages: installation.packages });
  const isComplete = !hasErrors([
    ...configuration.installDiagnostics,
    ...(tests?.diagnostics ?? []),
  ]);
  const modules = await installation.finish(configuration.root, isComplete, tests?.modules);
  for (const line of options.quiet === true ? [] : installedModuleLines(modules)) {
    context.terminal.writeError(wrapWords(`${line}\n`, context.terminal.columns));
  }
  return { directory, files, configuration, joined, plugins, modules, ...(tests && { tests }) };
}

/** The backend of the configuration of the directory. Nothing is installed or written for it, and no error of the configuration matters. */
export async function readBackend(
  context: CommandContext,
): Promise<Project["configuration"]["root"]["config"]["backend"]> {
  const early = await earlyValues({}, context);
  const { root } = await loadConfiguration(filesOf(context), { early });
  return root.config.backend;
}

function filesOf(
  { directory, workingDirectory, env: { HOME } }: CommandContext,
  planFile?: string,
): BundleFiles {
  const machine = {
    workingDirectory,
    home: HOME === undefined || HOME === "" ? homedir() : HOME,
    bundleRoot: findBundleRoot(directory),
  };
  const hiddenFile = planFile === undefined ? undefined : resolve(directory, planFile);
  return createDirectoryFiles(directory, { machine, ...(hiddenFile && { hiddenFile }) });
}

/** What is known of variables before anything is loaded. What is wrong with it is reported where all values are read. */
async function earlyValues(
  { inputs = [], values, stack }: LoadOptions,
  context: CommandContext,
): Promise<EarlyValues> {
  const workspace = stackName(context, { ...(stack !== undefined && { stack }) });
  if (values !== undefined) return { variables: () => values, workspace };
  const sources = await variableSources(context, inputs, context);
  return { variables: (declared) => resolveVariables(declared, sources).values, workspace };
}

async function meantSource({ directory, calledAs }: CommandContext) {
  // What is wrong with the file is an error where providers are installed.
  const file = await readLockFile(join(directory, LOCK_FILE_NAME)).catch(() => undefined);
  const reader = calledAs === "tofu" ? "tofu" : "terraform";
  return createMeantSource({ lock: file?.locks ?? LockFile.empty, reader });
}

async function readJoinedProviders(
  directory: string,
): Promise<Pick<Project, "joined" | "plugins">> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(join(directory, JOINED_PROVIDERS_FILE));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return { joined: new Map(), plugins: new Map() };
    throw new CommandError(`The file "${JOINED_PROVIDERS_FILE}" cannot be read.`, {
      cause: error,
      advice: error instanceof Error ? error.message : "",
    });
  }
  try {
    return {
      joined: await parseJoinedProviders(bytes),
      plugins: await parsePluginServers(bytes),
    };
  } catch (error) {
    if (!isEngineError(error, "ENGINE_CONFIG_INVALID")) throw error;
    throw new CommandError(error.message, {
      cause: error,
      advice:
        'It is JSON: {"providers": {SOURCE: {"programs": [{"source": ...}], "conflicts": "error", "owners": {TYPE: NAME}}}, "plugins": {SOURCE: {"server": URL}}}',
    });
  }
}

function withFurther(files: BundleFiles, further: ReadonlyMap<string, string>): BundleFiles {
  if (further.size === 0) return files;
  return {
    ...files,
    names: (folder) =>
      folder === "." ? [...files.names(folder), ...further.keys()].toSorted() : files.names(folder),
    read: (path) => {
      const text = further.get(path);
      return text === undefined ? files.read(path) : Buffer.from(text);
    },
  };
}

/** `CommandError` where the folder holds no configuration at all. */
export function requireConfiguration({ directory }: Project): void {
  if (readdirSync(directory).some((name) => /\.(?:tf|tofu)(?:\.json)?$/.test(name))) return;
  throw new CommandError(`There is no configuration (*.tf, *.tf.json) in "${directory}".`, {
    advice: "Go to the folder of a configuration, or name it with --chdir FOLDER.",
  });
}

export interface ProjectVariables {
  readonly values: ReadonlyMap<string, Value>;
  /** Where the values that come from files are written. */
  readonly places: ReadonlyMap<string, SourceRange>;
  /** Variables with a value of their own, in place of a default. */
  readonly given: ReadonlySet<string>;
  readonly diagnostics: readonly Diagnostic[];
}

/** Names of the variables whose values no plan has. */
export function ephemeralVariables({ configuration }: Project): readonly string[] {
  const { variables } = configuration.root.config;
  return [...variables.values()].filter(({ ephemeral }) => ephemeral).map(({ name }) => name);
}

const PREFIX = "TF_VAR_";

/**
 * The values of the root variables: from the environment (`TF_VAR_name`), `terraform.tfvars`, `*.auto.tfvars`, and the
 * command line. The user is asked for missing values where the input is a terminal.
 *
 * @param options `input` false asks for no values; `settled` are values that win over all others, as those of a plan
 */
export async function readVariables(
  project: Project,
  given: readonly VariableInput[],
  context: CommandContext,
  options: { readonly input: boolean; readonly settled?: ReadonlyMap<string, Value> },
): Promise<ProjectVariables> {
  const { variables } = project.configuration.root.config;
  const sources = await variableSources(project, given, context);
  for (const [name, value] of options.settled ?? []) sources.push({ kind: "value", name, value });
  const result = resolveVariables(variables, sources);
  if (result.missing.length === 0 || !options.input || !context.terminal.interactive) {
    return result;
  }
  for (const name of result.missing) {
    const variable = variables.get(name);
    if (variable !== undefined) sources.push(await askFor(variable, context));
  }
  return resolveVariables(variables, sources);
}

/** Where values come from without being asked for: the environment, files of the folder, the command line. */
export async function variableSources(
  { directory }: Pick<Project, "directory">,
  given: readonly VariableInput[],
  { env }: Pick<CommandContext, "env">,
): Promise<VariableValueOrigin[]> {
  const sources: VariableValueOrigin[] = [{ kind: "environment", values: environmentValues(env) }];
  sources.push(...(await variableFiles(directory, ".")));
  for (const input of given) sources.push(await sourceOf(input, directory));
  return sources;
}

/** The files of values in a folder that are read without being named. */
export async function variableFiles(
  directory: string,
  folder: string,
): Promise<VariableValueOrigin[]> {
  const place = join(directory, folder);
  if (!existsSync(place)) return [];
  return Promise.all(
    selectVariableFiles(readdirSync(place)).map(async (name) => ({
      kind: "file" as const,
      name: join(folder, name),
      text: await readFile(join(place, name)),
    })),
  );
}

function environmentValues(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([key, value]) =>
      key.startsWith(PREFIX) && value !== undefined ? [[key.slice(PREFIX.length), value]] : [],
    ),
  );
}

async function sourceOf(input: VariableInput, directory: string): Promise<VariableValueOrigin> {
  if (input.kind === "var") {
    const split = input.text.indexOf("=");
    if (split < 1) {
      throw new CommandError(`"-var ${input.text}" has no value; write -var name=value.`);
    }
    const name = input.text.slice(0, split);
    const text = input.text.slice(split + 1);
    if (/\s$/.test(name)) {
      // The space behind the sign would be a part of the value.
      throw new CommandError(
        `"-var ${input.text}" has a space behind the name; write -var "${name.trim()}=${text.trimStart()}".`,
      );
    }
    return { kind: "argument", name, text };
  }
  const path = isAbsolute(input.path) ? input.path : join(directory, input.path);
  try {
    return { kind: "file", name: relative(directory, path), text: await readFile(path) };
  } catch (error) {
    throw new CommandError(`The file of variables "${input.path}" cannot be read.`, {
      cause: error,
      advice: error instanceof Error ? error.message : "",
    });
  }
}

async function askFor(
  variable: VariableConfig,
  { terminal, signal }: CommandContext,
): Promise<VariableValueOrigin> {
  const { style } = terminal;
  terminal.write(`${style.paint("strong", `var.${variable.name}`)}\n`);
  if (variable.description !== undefined) {
    terminal.write(`${wrapWords(`  ${variable.description}`, terminal.columns, "  ")}\n`);
  }
  const text = await terminal.ask("  Enter a value: ", {
    signal,
    hidden: variable.sensitive,
  });
  if (text === undefined) throw new CommandError(`var.${variable.name} was given no value.`);
  terminal.write("\n");
  return { kind: "argument", name: variable.name, text };
}
