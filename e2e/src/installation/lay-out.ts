import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** What of a manifest says how a package is installed. */
interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly files?: readonly string[];
  readonly publishConfig?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Folders of packages, and what in a built package is for compilers and tests alone. */
const PARENTS = ["packages", "apps"];
const NOT_RUN = /\.(?:test|d)\.[^/]*$|\.map$/;

/**
 * Lays out the packages of the workspace as an installation from a registry would: the published manifests, the files
 * that they list, which are the built ones, and their declared dependencies and no others. Of third parties the
 * workspace's own are linked. The packages must be built.
 *
 * Code of functions for the scenarios goes into `functions`, where it finds the same packages.
 */
export async function layOut(root: string, folder: string): Promise<void> {
  const places = await findPackages(root);
  for (const [name, { path, manifest }] of places) {
    const source = join(root, path);
    const target = join(folder, path);
    if (!existsSync(join(source, "dist"))) {
      throw new Error(`${name} is not built: pnpm build`);
    }
    await mkdir(target, { recursive: true });
    const { access: _, ...published } = manifest.publishConfig ?? {};
    await writeFile(join(target, "package.json"), JSON.stringify({ ...manifest, ...published }));
    for (const listed of manifest.files ?? []) {
      if (listed.startsWith("!")) continue;
      await cp(join(source, listed), join(target, listed), {
        recursive: true,
        filter: (file) => !NOT_RUN.test(file),
      });
    }
    for (const dependency of Object.keys({
      ...manifest.dependencies,
      ...manifest.optionalDependencies,
      ...manifest.peerDependencies,
    })) {
      const ours = places.get(dependency);
      const theirs = join(source, "node_modules", dependency);
      // Optional ones may be absent, and peers are there for tests alone.
      if (ours === undefined && !existsSync(theirs)) continue;
      const link = join(target, "node_modules", dependency);
      await mkdir(dirname(link), { recursive: true });
      await symlink(ours === undefined ? await realpath(theirs) : join(folder, ours.path), link);
    }
  }
  const functions = join(folder, "functions");
  await cp(join(root, "e2e/src/scenarios/functions"), functions, { recursive: true });
  await symlink(join(folder, "apps/cli/node_modules"), join(functions, "node_modules"));
}

async function findPackages(root: string) {
  const found = new Map<string, { readonly path: string; readonly manifest: Manifest }>();
  for (const parent of PARENTS) {
    for (const name of await readdir(join(root, parent))) {
      const path = join(parent, name);
      const file = join(root, path, "package.json");
      if (!existsSync(file)) continue;
      const manifest = JSON.parse(await readFile(file, "utf8")) as Manifest;
      if (manifest.private !== true) found.set(manifest.name, { path, manifest });
    }
  }
  return found;
}
