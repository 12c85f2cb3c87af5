import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

interface Manifest {
  readonly name: string;
  readonly exports?: unknown;
  readonly publishConfig?: { readonly exports?: unknown };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const OURS = "@stackwright/";
const COMMAND = "stackwright";

/**
 * Lays out the built packages as an installation would: exports lead to `dist`, other packages are those of the workspace.
 * Returns the path of the command.
 *
 * @param root of the repository; `pnpm build` has to have been run
 */
export async function installBuilt(root: string, folder: string): Promise<string> {
  const known = new Map<string, string>();
  for (const parent of ["packages", "apps"]) {
    for (const name of await readdir(join(root, parent))) {
      const path = join(root, parent, name);
      known.set((await readManifest(path)).name, path);
    }
  }
  const done = new Set<string>();
  const install = async (name: string): Promise<void> => {
    if (done.has(name)) return;
    done.add(name);
    const source = known.get(name);
    if (source === undefined) throw new Error(`${name} is no package of the workspace`);
    const manifest = await readManifest(source);
    const target = join(folder, "node_modules", name);
    await cp(join(source, "dist"), join(target, "dist"), { recursive: true });
    const exports = manifest.publishConfig?.exports ?? manifest.exports;
    await writeFile(join(target, "package.json"), JSON.stringify({ ...manifest, exports }));
    for (const needed of Object.keys({
      ...manifest.optionalDependencies,
      ...manifest.dependencies,
    })) {
      if (needed.startsWith(OURS)) await install(needed);
      else await link(join(source, "node_modules", needed), join(target, "node_modules", needed));
    }
  };
  await install(COMMAND);
  const command = join(folder, "node_modules", COMMAND);
  await cp(join(root, "apps/cli/bin"), join(command, "bin"), { recursive: true });
  return join(command, "bin/stackwright.cjs");
}

async function readManifest(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(path, "package.json"), "utf8")) as Manifest;
}

async function link(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await symlink(source, target, "dir");
}
