import { createHash } from "node:crypto";
import {
  type BundleFiles,
  buildGraph,
  type ConfigGraph,
  checkReferences,
  collectRefactoring,
  type Diagnostic,
  hasErrors,
  loadModuleTree,
  type ModuleNode,
  type ProviderOptions,
  type ProviderResolution,
  type Refactoring,
  resolveProviders,
  sortDiagnostics,
  type TreeOptions,
} from "@stackwright/lang";

/** A configuration that was loaded and understood as far as that is possible without providers and values. */
export interface Configuration {
  readonly root: ModuleNode;
  readonly resolution: ProviderResolution;
  readonly graph: ConfigGraph;
  /** What `moved` and `removed` blocks say. */
  readonly refactoring: Refactoring;
  /** SHA-256 of all files of the bundle, in hexadecimal. */
  readonly digest: string;
  readonly diagnostics: readonly Diagnostic[];
}

export interface LoadConfigurationOptions extends TreeOptions, ProviderOptions {}

/** Loads a bundle, and finds everything that is wrong with it before anything is evaluated. */
export async function loadConfiguration(
  files: BundleFiles,
  options: LoadConfigurationOptions = {},
): Promise<Configuration> {
  const { root, diagnostics } = await loadModuleTree(files, options);
  const resolution = resolveProviders(root, options);
  const graph = buildGraph(root, resolution);
  const refactoring = collectRefactoring(root);
  const found: Diagnostic[] = [
    ...diagnostics,
    ...resolution.diagnostics,
    ...graph.diagnostics,
    ...refactoring.diagnostics,
  ];
  for (const module of modulesOf(root)) found.push(...checkReferences(module.config));
  return {
    root,
    resolution,
    graph,
    refactoring,
    digest: digestBundle(files),
    diagnostics: sortDiagnostics(found),
  };
}

/** All modules of a tree, parents first. */
export function* modulesOf(root: ModuleNode): Generator<ModuleNode> {
  yield root;
  for (const child of root.children.values()) yield* modulesOf(child);
}

export function isUsable({ diagnostics }: Configuration): boolean {
  return !hasErrors(diagnostics);
}

/** A digest of the files that configuration is made of and can refer to. */
function digestBundle(files: BundleFiles): string {
  const hash = createHash("sha256");
  for (const path of files.list(".")) {
    if (!/\.tf(?:\.json)?$/.test(path)) continue;
    hash.update(`${path}\0`);
    hash.update(createHash("sha256").update(files.read(path)).digest());
  }
  return hash.digest("hex");
}
