import {
  type BundleFiles,
  buildGraph,
  type ConfigGraph,
  checkTree,
  collectRefactoring,
  type Diagnostic,
  hasErrors,
  type LoadedTree,
  loadModuleTree,
  type ModuleNode,
  type ProviderOptions,
  type ProviderResolution,
  type Refactoring,
  resolveProviders,
  sortDiagnostics,
  type TreeOptions,
} from "@stackwright/lang";
import { Version, VersionConstraints } from "@stackwright/provider-source";
import { configurationDigest, modulesOf } from "./configuration-digest.ts";
import { LANGUAGE_VERSION } from "./language-version.ts";

/** A configuration that was loaded and understood as far as that is possible without providers and values. */
export interface Configuration {
  readonly root: ModuleNode;
  readonly resolution: ProviderResolution;
  readonly graph: ConfigGraph;
  /** What `moved` and `removed` blocks say. */
  readonly refactoring: Refactoring;
  /** Local names of providers whose functions are called somewhere. */
  readonly functionProviders: ReadonlySet<string>;
  /** SHA-256 of the configuration files of all modules that are called, in hexadecimal. */
  readonly digest: string;
  readonly diagnostics: readonly Diagnostic[];
  /** Those of them that are about what there is to install: files, blocks, modules and providers. */
  readonly installDiagnostics: readonly Diagnostic[];
  /**
   * Whether blocks, modules, providers and their order are known: what is wrong, if anything, is inside of expressions, and all
   * others can be checked nevertheless.
   */
  readonly isSound: boolean;
}

export interface LoadConfigurationOptions extends TreeOptions, ProviderOptions {}

/** Loads a bundle, and finds everything that is wrong with it before anything is evaluated. */
export async function loadConfiguration(
  files: BundleFiles,
  options: LoadConfigurationOptions = {},
): Promise<Configuration> {
  return completeConfiguration(await loadModuleTree(files, options), options);
}

/** Finds everything that is wrong with a tree of modules before anything is evaluated. */
export function completeConfiguration(
  { root, diagnostics, argumentDiagnostics }: LoadedTree,
  options: ProviderOptions = {},
): Configuration {
  const resolution = resolveProviders(root, options);
  const graph = buildGraph(root, resolution);
  const refactoring = collectRefactoring(root);
  const found: Diagnostic[] = [
    ...diagnostics,
    ...resolution.diagnostics,
    ...graph.diagnostics,
    ...refactoring.diagnostics,
  ];
  for (const module of modulesOf(root)) found.push(...checkRequiredVersions(module));
  const isSound = !hasErrors(found);
  const later = new Set([
    ...argumentDiagnostics,
    ...resolution.referenceDiagnostics,
    ...graph.diagnostics,
    ...refactoring.diagnostics,
  ]);
  const installDiagnostics = sortDiagnostics(found.filter((one) => !later.has(one)));
  found.push(...checkTree(root));
  return {
    root,
    resolution,
    graph,
    refactoring,
    functionProviders: calledProviders(root),
    digest: configurationDigest(root),
    diagnostics: sortDiagnostics(found),
    installDiagnostics,
    isSound,
  };
}

/**
 * Whether the version of the language that is implemented satisfies what a module requires. Where it does not, that is a warning:
 * constructs that are not supported are errors, each by its name.
 */
function checkRequiredVersions({ config }: ModuleNode): readonly Diagnostic[] {
  return config.requiredVersions.flatMap(({ constraint, range }): Diagnostic[] => {
    const place = { code: "ENGINE_CONFIG", subject: range } as const;
    try {
      if (VersionConstraints.parse(constraint).allows(Version.parse(LANGUAGE_VERSION))) return [];
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      return [{ ...place, severity: "error", summary: "Invalid version constraint", detail }];
    }
    const detail = `The module requires version ${constraint}, and this release implements the language of version ${LANGUAGE_VERSION}. What it does not support is an error where it is written.`;
    const summary = "Unsupported Terraform Core version";
    return [{ ...place, severity: "warning", summary, detail }];
  });
}

export function hasNoErrors({ diagnostics }: Configuration): boolean {
  return !hasErrors(diagnostics);
}

/** Found in the text: more than there are does no harm. */
function calledProviders(root: ModuleNode): ReadonlySet<string> {
  const names = new Set<string>();
  const seen = new Set<string>();
  for (const module of modulesOf(root)) {
    if (seen.has(module.folder)) continue;
    seen.add(module.folder);
    for (const bytes of module.sources.values()) {
      const text = new TextDecoder().decode(bytes);
      for (const [, name = ""] of text.matchAll(/\bprovider::([\w-]+)::/g)) names.add(name);
    }
  }
  return names;
}
