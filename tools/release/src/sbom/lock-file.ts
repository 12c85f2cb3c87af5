import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { parse } from "yaml";

/** A package of others, as the lock file has it. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** As npm writes it: the name of the algorithm, and the digest in base64. */
  readonly integrity: string;
  /** Keys of what it needs: `name@version`. */
  readonly needs: readonly string[];
}

/** What the given packages of the workspace need to run, with all that this needs in turn. */
interface LockedClosure {
  /** By `name@version`. */
  readonly packages: ReadonlyMap<string, LockedPackage>;
  /** What each package of the workspace needs: keys of packages, and folders of the workspace. */
  readonly roots: ReadonlyMap<string, readonly string[]>;
}

type Versions = Readonly<Record<string, string>>;

/** Names of what packages need, in a manifest and with versions in the lock file. */
interface Needs<T> {
  readonly dependencies?: Readonly<Record<string, T>>;
  readonly optionalDependencies?: Readonly<Record<string, T>>;
  readonly devDependencies?: Readonly<Record<string, T>>;
}

interface LockFile {
  readonly importers: Readonly<Record<string, Needs<{ readonly version: string }>>>;
  readonly packages: Readonly<
    Record<string, { readonly resolution: { readonly integrity: string } }>
  >;
  readonly snapshots: Readonly<
    Record<string, { readonly dependencies?: Versions; readonly optionalDependencies?: Versions }>
  >;
}

/**
 * Reads what packages of the workspace need from the lock file: no range, no guess.
 *
 * @param bundled development dependencies that are needed as well, by folder
 */
export async function readClosure(
  root: string,
  folders: readonly string[],
  bundled: Readonly<Record<string, readonly string[]>>,
): Promise<LockedClosure> {
  const lock = parse(await readFile(join(root, "pnpm-lock.yaml"), "utf8")) as LockFile;
  const packages = new Map<string, LockedPackage>();
  const visit = (snapshot: string): string => {
    // The part in brackets says with which peers; the package is the same.
    const key = snapshot.replace(/\(.*$/, "");
    if (packages.has(key)) return key;
    const { dependencies, optionalDependencies } = lock.snapshots[snapshot] ?? {};
    const at = key.lastIndexOf("@");
    const found = {
      name: key.slice(0, at),
      version: key.slice(at + 1),
      integrity: lock.packages[key]?.resolution.integrity ?? "",
      needs: [] as string[],
    };
    packages.set(key, found);
    const needed = Object.entries({ ...optionalDependencies, ...dependencies });
    found.needs.push(
      ...needed.map(([name, version]) => visit(snapshotOf(name, version))).toSorted(),
    );
    return key;
  };
  const roots = folders.map((folder): [string, string[]] => {
    const importer = lock.importers[folder] ?? {};
    const locked = { ...importer.devDependencies, ...namesOf(importer) };
    const manifest = readFileSync(join(root, folder, "package.json"), "utf8");
    // The lock file lists optional peers among them, which are what a user may add.
    const needed = Object.keys(namesOf(JSON.parse(manifest) as Needs<string>));
    needed.push(...(bundled[folder] ?? []));
    return [
      folder,
      needed.map((name) => {
        const { version = "" } = locked[name] ?? {};
        return version.startsWith("link:")
          ? posix.join(folder, version.slice("link:".length))
          : visit(snapshotOf(name, version));
      }),
    ];
  });
  return { packages, roots: new Map(roots) };
}

function namesOf<T>({ dependencies, optionalDependencies }: Needs<T>): Readonly<Record<string, T>> {
  return { ...optionalDependencies, ...dependencies };
}

/** The key of a snapshot. An alias has the whole key in the place of the version. */
function snapshotOf(name: string, version: string): string {
  return /^(?:@[^/]+\/)?[^@(]+@/.test(version) ? version : `${name}@${version}`;
}
