import { append } from "@stackwright/base/append";
import { functionFailure } from "../eval/call-function.ts";
import type { BundleFiles } from "../eval/host.ts";
import { type Diagnostic, sortDiagnostics } from "../syntax/diagnostic.ts";
import { didYouMean } from "../syntax/suggestion.ts";
import { readAttributes } from "./body-content.ts";
import { earlyBackend } from "./decode-backend.ts";
import { withInstances } from "./decode-provider.ts";
import { completeModuleCall } from "./decode-resource.ts";
import { EarlyScope, type EarlyValues } from "./early-scope.ts";
import { type LoadModuleOptions, loadModule } from "./load-module.ts";
import type { ModuleCall, ModuleConfig } from "./module-config.ts";
import { selectModuleFiles, unreadFiles } from "./module-files.ts";
import {
  formatModuleSource,
  hideCredentials,
  joinFolder,
  ModuleError,
  type PackageSource,
  parseModuleSource,
} from "./module-source.ts";
import { isEmptyProvider } from "./provider-block.ts";

/** A module in the tree of modules. */
export interface ModuleNode {
  /** Names of the calls from the root module to this one. */
  readonly path: readonly string[];
  readonly config: ModuleConfig;
  /** By the name of the call. */
  readonly children: ReadonlyMap<string, ModuleNode>;
  /** Its configuration files as they were read, by name, in the order in which they count. */
  readonly sources: ReadonlyMap<string, Uint8Array>;
  /** The files that paths in the module refer to. */
  readonly files: BundleFiles;
  /** The folder of the module in these files: what `path.module` is. */
  readonly folder: string;
  /** The folder of the package that was brought for a call, with all modules below it; undefined for that of the root module. */
  readonly packageFolder?: string;
  /** The call that the module is loaded for; undefined for the root module. */
  readonly call?: ModuleCall;
  /** What stands in for one instance of the module, by its address; undefined where the instance is as all others. */
  readonly standInOf?: (address: string) => ModuleNode | undefined;
}

/** A module call whose package lies somewhere else. */
export interface PackageRequest {
  /** Names of the calls from the root module to this one. */
  readonly path: readonly string[];
  readonly call: ModuleCall;
  readonly source: PackageSource;
}

/** Where the files of a package are. */
export interface ModulePackageLocation {
  readonly files: BundleFiles;
  /** The folder of the module in these files. */
  readonly folder: string;
  /** The folder of the package: local paths of its modules do not leave it. */
  readonly packageFolder: string;
  /** Where local paths of the module start. @default `folder` */
  readonly base?: string;
}

/** Knows where the packages of modules are; it may install them. */
export interface ModulePackages {
  /** Rejects with a `ModuleError`, or any error whose message says why there is none. */
  locate(request: PackageRequest): Promise<ModulePackageLocation>;
}

/** How a tree is loaded. */
export interface TreeOptions extends Pick<LoadModuleOptions, "limits" | "rfsTemplates"> {
  /** What is known for what is evaluated before modules are loaded. @default only defaults of variables */
  readonly early?: EarlyValues;
  /** Where the root module is. @default the folder `.` of the files */
  readonly start?: ModulePackageLocation | Pick<ModulePackageLocation, "files" | "folder">;
  /** Without any only local modules can be called. */
  readonly packages?: ModulePackages;
  /** Deepest nesting of calls. @default 32 */
  readonly maxDepth?: number;
  /** Most modules, each call counted. @default 1000 */
  readonly maxModules?: number;
}

/** A tree as far as it could be loaded, and what is wrong with all of its modules. */
export interface LoadedTree {
  readonly root: ModuleNode;
  readonly diagnostics: readonly Diagnostic[];
  /** Those of them about arguments of calls, which say nothing of what there is to install. */
  readonly argumentDiagnostics: readonly Diagnostic[];
}

/**
 * Loads the root module of a bundle and everything that it calls. Arguments of calls are checked
 * against the variables of the called modules.
 */
export async function loadModuleTree(
  files: BundleFiles,
  options: TreeOptions = {},
): Promise<LoadedTree> {
  const loader = new TreeLoader(options);
  const start = options.start ?? { files, folder: "." };
  const root = await loader.load({ ...start, path: [], ancestors: [] });
  loader.reportLeftOut();
  const { argumentDiagnostics } = loader;
  append(loader.diagnostics, argumentDiagnostics);
  return { root, diagnostics: sortDiagnostics(loader.diagnostics), argumentDiagnostics };
}

/**
 * Loads the module that a call names as a root module, with everything that it calls.
 *
 * @param path what the call is for packages, its name last
 */
export async function loadCalledTree(
  files: BundleFiles,
  call: ModuleCall,
  path: readonly string[],
  options: TreeOptions = {},
): Promise<LoadedTree | Pick<LoadedTree, "diagnostics">> {
  const finder = new TreeLoader({ ...options, ...below(path.slice(0, -1), options) });
  const start = await finder.locate({ path: [], files, folder: ".", ancestors: [] }, call);
  if (start === undefined) return { diagnostics: finder.diagnostics };
  const names = start.files.names(start.folder);
  if (finder.refuseEmpty({ folder: start.folder, names }, call)) {
    return { diagnostics: finder.diagnostics };
  }
  return loadModuleTree(files, { ...options, ...below(path, options), start });
}

/** Packages of calls that are below another path than that in their tree. */
function below(
  path: readonly string[],
  { packages }: Pick<TreeOptions, "packages">,
): Pick<TreeOptions, "packages"> {
  if (packages === undefined) return {};
  return {
    packages: {
      locate: async (request) => packages.locate({ ...request, path: [...path, ...request.path] }),
    },
  };
}

interface Place {
  readonly path: readonly string[];
  readonly files: BundleFiles;
  readonly folder: string;
  /** The files in the folder, where that was asked already. */
  readonly names?: readonly string[];
  /** Of the package that the module belongs to; undefined for that of the root module. */
  readonly packageFolder?: string;
  readonly base?: string;
  readonly call?: ModuleCall;
  readonly ancestors: readonly { readonly files: BundleFiles; readonly folder: string }[];
  /** What the arguments of the call are evaluated with. */
  readonly caller?: EarlyScope;
}

const DEFAULT_MAX_MODULES = 1000;

const META = new Set(["source", "version", "providers", "count", "for_each", "depends_on"]);

class TreeLoader {
  readonly diagnostics: Diagnostic[] = [];
  /** Apart from the others. */
  readonly argumentDiagnostics: Diagnostic[] = [];
  readonly #options: TreeOptions;
  /** The root module is one. */
  #modules = 1;
  /** Calls beyond the most modules that there may be. */
  readonly #leftOut: ModuleCall[] = [];

  constructor(options: TreeOptions) {
    this.#options = options;
  }

  #fail(summary: string, detail: string, { range }: ModuleCall): undefined {
    this.diagnostics.push({
      severity: "error",
      code: "LANG_CONFIG",
      summary,
      detail,
      subject: range,
    });
  }

  /** Says once how many calls were not followed, at one of them. */
  reportLeftOut(): void {
    const [first] = this.#leftOut;
    if (first === undefined) return;
    const { maxModules = DEFAULT_MAX_MODULES } = this.#options;
    const count = this.#leftOut.length;
    const calls = count === 1 ? "1 call was" : `${count} calls were`;
    const detail = `A configuration may have at most ${maxModules} modules, each call counted. ${calls} not followed.`;
    this.#fail("Too many modules", detail, first);
  }

  /** A file that is passed over would take the objects that it declares out of the configuration, and so destroy them. */
  #reportBrokenLinks(files: BundleFiles, folder: string, prefix: string): void {
    const { primary, override } = selectModuleFiles(files.brokenLinks?.(folder) ?? []);
    for (const name of [...primary, ...override]) {
      this.diagnostics.push({
        severity: "error",
        code: "LANG_CONFIG",
        summary: "Failed to read file",
        detail: `The file "${prefix}${name}" is a link that leads to no file of the configuration. Put the file that it stands for in its place, or remove the link, which ends the objects that the file declares.`,
      });
    }
  }

  async load(place: Place): Promise<ModuleNode> {
    const { path, files, folder } = place;
    const { limits, rfsTemplates } = this.#options;
    const prefix = folder === "." ? "" : `${folder}/`;
    const names = place.names ?? files.names(folder);
    const { primary, override } = selectModuleFiles(names);
    const sources = new Map(
      [...primary, ...override].map((name) => [name, files.read(prefix + name)] as const),
    );
    const { config: written, diagnostics } = loadModule(sources, {
      prefix,
      ...(limits !== undefined && { limits }),
      ...(rfsTemplates !== undefined && { rfsTemplates }),
    });
    append(this.diagnostics, diagnostics);
    for (const { name, meaning } of unreadFiles(names)) {
      this.diagnostics.push({
        severity: "warning",
        code: "LANG_CONFIG",
        summary: "File is not read",
        detail: `The file "${prefix}${name}" is ${meaning}, which is not supported. It has no effect.`,
      });
    }
    this.#reportBrokenLinks(files, folder, prefix);
    const children = new Map<string, ModuleNode>();
    const { caller, call: own } = place;
    const early = new EarlyScope(
      written,
      { files, folder, caller: caller && own && { scope: caller, call: own } },
      this.#options.early ?? {},
    );
    const config = this.#evaluateEarly(written, early, path.length === 0);
    // Packages are brought at the same time; the calls are checked in the order of their names.
    const loaded = await Promise.all(
      [...config.modules.values()].map((call) => this.#child(place, call, early)),
    );
    for (const [at, [name, call]] of [...config.modules].entries()) {
      const child = loaded[at];
      if (child === undefined) continue;
      this.#checkCall(call, child.config);
      this.#checkRepeated(call, child);
      children.set(name, child);
    }
    const { packageFolder, call } = place;
    return {
      path,
      config,
      children,
      sources,
      files,
      folder,
      ...(packageFolder !== undefined && { packageFolder }),
      ...(call && { call }),
    };
  }

  /** What can be evaluated before the modules that are called are there: which these are, too. */
  #evaluateEarly(config: ModuleConfig, early: EarlyScope, isRoot: boolean): ModuleConfig {
    const modules = new Map<string, ModuleCall>();
    for (const [name, call] of config.modules) {
      const complete = completeModuleCall(call, early, this.diagnostics);
      if (complete !== undefined) modules.set(name, complete);
    }
    const providers = new Map(
      [...config.providers].map(([name, provider]) => [
        name,
        withInstances(provider, early, this.diagnostics),
      ]),
    );
    const { backend, encryption } = config;
    if (backend !== undefined && !isRoot) {
      this.diagnostics.push({
        severity: "warning",
        code: "LANG_CONFIG",
        summary: "Backend configuration ignored",
        detail: "Only the root module says where the state of Terraform is.",
        subject: backend.range,
      });
    }
    return {
      ...config,
      modules,
      providers,
      ...(backend !== undefined && isRoot && { backend: earlyBackend(backend, early) }),
      ...(encryption !== undefined && isRoot && { encryption: { ...encryption, early } }),
    };
  }

  async #child(
    parent: Place,
    call: ModuleCall,
    caller: EarlyScope,
  ): Promise<ModuleNode | undefined> {
    const { maxDepth = 32, maxModules = DEFAULT_MAX_MODULES } = this.#options;
    if (parent.path.length >= maxDepth) {
      return this.#fail(
        "Modules nested too deeply",
        `Calls may be nested at most ${maxDepth} levels deep.`,
        call,
      );
    }
    if (this.#modules >= maxModules) {
      this.#leftOut.push(call);
      return undefined;
    }
    this.#modules++;
    const place = await this.locate(parent, call);
    if (place === undefined) return undefined;
    const ancestors = [...parent.ancestors, { files: parent.files, folder: parent.folder }];
    if (ancestors.some(({ files, folder }) => files === place.files && folder === place.folder)) {
      return this.#fail(
        "Module calls itself",
        `The module in "${place.folder}" would contain itself.`,
        call,
      );
    }
    const names = place.files.names(place.folder);
    if (this.refuseEmpty({ folder: place.folder, names }, call)) return undefined;
    const path = [...parent.path, call.name];
    return this.load({ ...place, path, call, ancestors, caller, names });
  }

  /** Whether there is nothing where a call leads, which is reported. */
  refuseEmpty(
    { folder, names }: Required<Pick<Place, "folder" | "names">>,
    call: ModuleCall,
  ): boolean {
    const { primary, override } = selectModuleFiles(names);
    if (primary.length + override.length > 0) return false;
    this.#fail(
      "Unreadable module directory",
      `There are no configuration files in "${folder}", which is the source ${JSON.stringify(hideCredentials(call.source))} of the module "${call.name}".`,
      call,
    );
    return true;
  }

  async locate(
    parent: Place,
    call: ModuleCall,
  ): Promise<Pick<Place, "files" | "folder" | "packageFolder" | "base"> | undefined> {
    const { files, folder, packageFolder, base = folder } = parent;
    try {
      const source = parseModuleSource(call.source);
      if (source.kind === "local") {
        const own = packageFolder === undefined ? {} : { packageFolder };
        const machine = files.machine !== undefined;
        const { adviceOutside } = files;
        const joined = joinFolder(base, source.path, { machine, adviceOutside, ...own });
        return { files, folder: files.realFolder?.(joined) ?? joined, ...own };
      }
      const { packages } = this.#options;
      if (packages === undefined) {
        const address = hideCredentials(formatModuleSource(source));
        const detail = `The module "${call.name}" comes from "${address}", and packages of modules are not available here. Local paths begin with "./" or "../".`;
        return this.#fail("Module source not allowed", detail, call);
      }
      return await packages.locate({ path: [...parent.path, call.name], call, source });
    } catch (error) {
      if (error instanceof ModuleError) return this.#fail(error.summary, error.message, call);
      const detail = `The module "${call.name}" from ${JSON.stringify(hideCredentials(call.source))} cannot be loaded: ${reason(error)}.`;
      return this.#fail("Module not available", detail, call);
    }
  }

  /** Checks the arguments of a call. */
  #checkCall(call: ModuleCall, { variables }: ModuleConfig): void {
    // Blocks are not expected in a call; reading any names reports them.
    const given = readAttributes(call.body, this.argumentDiagnostics);
    for (const [name, { nameRange }] of given) {
      if (META.has(name) || variables.has(name)) continue;
      this.argumentDiagnostics.push({
        severity: "error",
        code: "LANG_BODY",
        summary: "Unsupported argument",
        detail: `The module has no variable "${name}".${didYouMean(name, variables.keys())}`,
        subject: nameRange,
      });
    }
    for (const [name, variable] of variables) {
      if (variable.default !== undefined || given.has(name)) continue;
      this.argumentDiagnostics.push({
        severity: "error",
        code: "LANG_CONFIG",
        summary: "Missing required argument",
        detail: `The variable "${name}" of the module has no default and must be set.`,
        subject: call.range,
      });
    }
  }

  /** Configurations of providers exist once, so that modules with any cannot be repeated. */
  #checkRepeated(call: ModuleCall, child: ModuleNode): void {
    const repeated =
      call.count !== undefined || call.forEach !== undefined || call.dependsOn.length > 0;
    const configured = repeated ? findConfigured(child) : undefined;
    if (configured === undefined) return;
    const detail = `The module ${moduleText(configured)} has provider configurations of its own, so that it cannot be called, nor be inside of what is called, with count, for_each or depends_on. Pass the configurations to it instead.`;
    this.#fail("Module is incompatible with count, for_each, and depends_on", detail, call);
  }
}

/** The first module, of one and those below it, in which a provider is configured. */
function findConfigured(module: ModuleNode): ModuleNode | undefined {
  if ([...module.config.providers.values()].some((own) => !isEmptyProvider(own))) return module;
  for (const child of module.children.values()) {
    const found = findConfigured(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

function moduleText({ path }: ModuleNode): string {
  return path.map((name) => `module.${name}`).join(".");
}

function reason(error: unknown): string {
  try {
    return functionFailure(error).message;
  } catch {
    return error instanceof Error ? error.message : String(error);
  }
}
