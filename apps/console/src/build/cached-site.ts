import { createHash, randomUUID } from "node:crypto";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { buildSite, CONSOLE_FOLDER } from "./build-site.ts";

const ROOT = join(CONSOLE_FOLDER, "..", "..");
/** In a folder that belongs to the installation: it is never committed, and gone with it. */
const CACHE = join(CONSOLE_FOLDER, "node_modules", ".cache", "site");
/** All that decides what is built: the versions of dependencies are in the lock file. */
const INPUTS = [
  "apps/console/index.html",
  "apps/console/src/{app,build,graph}/**/*.{ts,tsx,css,svg}",
  "packages/{base,client,cty,plan-view}/src/**/*.ts",
  "pnpm-lock.yaml",
];

/** The folder with the console of the present sources, built if it is missing. Several processes may do this at the same time. */
export async function cachedSite(): Promise<string> {
  const folder = join(CACHE, digestOfSources());
  if (existsSync(folder)) return folder;
  const own = join(CACHE, `build-${randomUUID()}`);
  try {
    await mkdir(CACHE, { recursive: true });
    await buildSite(own);
    await rename(own, folder).catch((error: unknown) => {
      // Another process was faster.
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  await removeOld(folder);
  return folder;
}

function digestOfSources(): string {
  const hash = createHash("sha256");
  const files = INPUTS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).filter(
    (file) => !/\.(?:test|test-d)\.tsx?$/.test(file),
  );
  for (const file of files.toSorted()) {
    const content = readFileSync(join(ROOT, file));
    hash.update(`${file.replaceAll("\\", "/")}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex").slice(0, 32);
}

/** A developer builds often: the last few stay, for servers that are about to read them. */
async function removeOld(present: string): Promise<void> {
  const names = (await readdir(CACHE)).filter((name) => /^[0-9a-f]{32}$/.test(name));
  const others = names.map((name) => join(CACHE, name)).filter((path) => path !== present);
  const byAge = others.toSorted((left, right) => statSync(right).mtimeMs - statSync(left).mtimeMs);
  for (const path of byAge.slice(3)) await rm(path, { recursive: true, force: true });
}
