import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Where a condition of an exports map leads, or the conditions themselves. */
type ExportTarget = string | Readonly<Record<string, string>>;

/** The part of a package manifest that the checks read. */
interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly engines?: { readonly node?: string };
  readonly exports?: Readonly<Record<string, ExportTarget>>;
  readonly publishConfig?: { readonly exports?: Readonly<Record<string, ExportTarget>> };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

/** One package of the workspace. */
export interface WorkspacePackage {
  /** Relative to the root, with forward slashes: `packages/krt`. */
  readonly folder: string;
  /** Absolute. */
  readonly path: string;
  readonly manifest: Manifest;
}

/** Folders that are packages themselves, and folders whose children are. */
const SINGLE = ["e2e"];
const PARENTS = ["packages", "apps", "bench", "examples", "tools"];

/** All packages of the workspace, sorted by folder. */
export function listPackages(root: string): WorkspacePackage[] {
  const folders = [
    ...SINGLE,
    ...PARENTS.flatMap((parent) =>
      existsSync(join(root, parent))
        ? readdirSync(join(root, parent)).map((name) => `${parent}/${name}`)
        : [],
    ),
  ];
  return folders
    .filter((folder) => existsSync(join(root, folder, "package.json")))
    .toSorted()
    .map((folder) => {
      const path = join(root, folder);
      const manifest = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest;
      return { folder, path, manifest };
    });
}
