import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

// Lays out what is published as `stackwright`: the bundle, which needs no other package. In the workspace the manifest names what
// is bundled, so that the sources run.

const source = join(import.meta.dirname, "..");
const target = join(source, "package");

interface Manifest {
  readonly publishConfig: {
    readonly exports: Readonly<Record<string, { readonly types: string }>>;
  };
  readonly [member: string]: unknown;
}

const manifest = JSON.parse(await readFile(join(source, "package.json"), "utf8")) as Manifest;
const {
  dependencies: _,
  devDependencies: _dev,
  scripts: _scripts,
  publishConfig,
  ...kept
} = manifest;
const { exports } = publishConfig;

await rm(target, { recursive: true, force: true });
await mkdir(target);
for (const name of ["bin", "README.md", "LICENSE"]) {
  await cp(join(source, name), join(target, name), { recursive: true });
}
for (const name of await readdir(join(source, "dist"), { recursive: true, withFileTypes: true })) {
  if (!name.isFile() || name.name.endsWith(".d.ts")) continue;
  const file = join(name.parentPath, name.name);
  await cp(file, join(target, relative(source, file)));
}
for (const { types } of Object.values(exports)) await copyTypes(join(source, types));
await rename(join(target, "dist/third-party.md"), join(target, "THIRD-PARTY.md"));
const published = { ...kept, files: ["bin", "dist", "THIRD-PARTY.md"], exports };
await writeFile(join(target, "package.json"), `${JSON.stringify(published, undefined, 2)}\n`);

/** The declarations of a module and of what they import. */
async function copyTypes(file: string, done = new Set<string>()): Promise<void> {
  if (done.has(file)) return;
  done.add(file);
  const text = await readFile(file, "utf8");
  const copied = join(target, relative(source, file));
  await mkdir(dirname(copied), { recursive: true });
  await writeFile(copied, text);
  for (const [, specifier = ""] of text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)) {
    if (specifier.startsWith("@stackwright/")) {
      throw new Error(`${relative(source, file)} needs types of ${specifier}, which is bundled`);
    }
    if (!specifier.startsWith(".")) continue;
    await copyTypes(join(dirname(file), specifier.replace(/\.[jt]s$/, ".d.ts")), done);
  }
}
