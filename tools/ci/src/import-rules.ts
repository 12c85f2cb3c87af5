import { existsSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { importsOf, sourceFiles } from "./source-imports.ts";
import { listPackages, type WorkspacePackage } from "./workspace.ts";

/**
 * What each package may import of the others, by folder name. The order is the building order:
 * every package names only packages above it, so the table itself cannot hold a cycle.
 */
export const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  proto: ["base"],
  cty: [],
  krt: [],
  "provider-source": ["base"],
  "request-signing": ["base"],
  client: ["base"],
  lang: ["cty", "provider-source", "base"],
  storage: ["proto", "base"],
  mux: ["proto", "cty", "provider-source", "base"],
  tfplugin: ["proto", "cty", "mux", "provider-source", "base"],
  registry: ["proto", "storage", "provider-source", "request-signing", "base"],
  "fg-bridge": ["proto", "cty", "mux", "tfplugin", "provider-source", "request-signing", "base"],
  tfstate: ["cty", "base"],
  tfe: ["tfstate", "base"],
  "rfs-stacks": ["lang", "cty", "provider-source", "request-signing", "base"],
  "plan-view": ["cty"],
  "lang-server": ["lang", "cty", "provider-source", "base"],
  core: [
    "proto",
    "cty",
    "provider-source",
    "request-signing",
    "storage",
    "lang",
    "mux",
    "tfplugin",
    "tfstate",
    "registry",
    "fg-bridge",
    "base",
  ],
};

/** Folders that may import every package, and that no package may import. */
const TOP_LEVEL = ["apps", "e2e", "bench", "examples", "tools"];

const SCOPE = "@stackwright/";

/** Checks every import of every source and test file; returns one line per broken rule. */
export function checkImports(root: string): { files: number; problems: string[] } {
  const packages = listPackages(root);
  let files = 0;
  const problems: string[] = [];
  for (const owner of packages) {
    for (const file of sourceFiles(owner.path)) {
      files += 1;
      const path = join(owner.path, file);
      for (const specifier of importsOf(path)) {
        const problem = judgeImport({ root, owner, packages, path, specifier });
        if (problem !== undefined) {
          problems.push(`${relative(root, path)} imports "${specifier}": ${problem}`);
        }
      }
    }
  }
  return { files, problems };
}

interface ImportInQuestion {
  readonly root: string;
  readonly owner: WorkspacePackage;
  readonly packages: readonly WorkspacePackage[];
  /** Absolute path of the importing file. */
  readonly path: string;
  readonly specifier: string;
}

function judgeImport({ root, owner, packages, path, specifier }: ImportInQuestion) {
  if (specifier.startsWith(".")) {
    const target = resolve(dirname(path), specifier);
    return target.startsWith(owner.path + sep) || isWorkspaceConfig(root, target, owner)
      ? undefined
      : "a relative import must stay inside its package";
  }
  const imported = packages.find(
    ({ manifest }) => specifier === manifest.name || specifier.startsWith(`${manifest.name}/`),
  );
  if (imported === undefined) {
    return specifier.startsWith(SCOPE) ? "there is no such package" : undefined;
  }
  const subpath = `.${specifier.slice(imported.manifest.name.length)}`;
  if (!(subpath in (imported.manifest.exports ?? {}))) {
    return `a deep import; ${imported.manifest.name} does not export "${subpath}"`;
  }
  if (imported === owner) return undefined;
  if (isPublished(owner, path) && !needs(owner, imported)) {
    return `it is not among the dependencies of ${owner.folder}/package.json, with which users get it`;
  }
  if (isTopLevel(owner)) return undefined;
  if (isTopLevel(imported)) return `${imported.folder} is not for packages to import`;
  const name = owner.folder.slice("packages/".length);
  const allowed = ALLOWED_IMPORTS[name];
  if (allowed === undefined) {
    return `${owner.folder} is not in the table of allowed imports (tools/ci/src/import-rules.ts)`;
  }
  return allowed.includes(imported.folder.slice("packages/".length))
    ? undefined
    : `${name} may import ${allowed.length === 0 ? "no package of ours" : `only ${allowed.join(", ")}`}`;
}

/** Files that users get: not tests, nor what only tests of the package import. The console is bundled. */
function isPublished({ path: folder, folder: name, manifest }: WorkspacePackage, path: string) {
  if (manifest.private === true || name === "apps/console") return false;
  const [first, second] = relative(folder, path).split(sep);
  if (first !== "src" || second === "testing") return false;
  return !/\.(?:test|test-d)\.tsx?$/.test(path);
}

function needs({ manifest }: WorkspacePackage, imported: WorkspacePackage): boolean {
  const { dependencies, peerDependencies } = manifest;
  return imported.manifest.name in { ...dependencies, ...peerDependencies };
}

function isTopLevel({ folder }: WorkspacePackage): boolean {
  return TOP_LEVEL.some((top) => folder === top || folder.startsWith(`${top}/`));
}

/** Tools and the like may import one another's files; a package may not leave its folder. */
function isWorkspaceConfig(root: string, target: string, owner: WorkspacePackage): boolean {
  return isTopLevel(owner) && target.startsWith(join(root, "tools") + sep) && existsSync(target);
}
