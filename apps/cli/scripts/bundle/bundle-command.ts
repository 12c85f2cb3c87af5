import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuildOptions, build, type Metafile, type OutputFile } from "esbuild";
import { ALONE, COMMAND, ENTRIES, FILES, LocatedFiles, PACKS } from "./located-files.ts";
import { packChunks } from "./packed-chunks.ts";
import { type BundledPackage, bundledPackages, thirdPartyPage } from "./third-party.ts";

/** Development tools that a source looks for in a checkout alone, and native parts that are not installed. */
export const EXTERNAL = ["esbuild", "cpu-features", "*.node"];
/** What modules in the form of CommonJS expect to be there. */
const COMMON_JS = [
  'import{createRequire as createRequireOfBundle}from"node:module"',
  "const require=createRequireOfBundle(import.meta.url),__filename=import.meta.filename,__dirname=import.meta.dirname;",
].join(";");

/** What became part of a bundle. */
interface CommandBundle {
  readonly packages: readonly BundledPackage[];
}

/**
 * Bundles the command with all that it needs into the folder: packs with the modules of commands that are used often, which
 * run when a command needs them, and chunks for all others and for what runs beside it. Threads and child processes find their entries
 * there as they do beside the sources. Equal sources give equal bytes.
 *
 * @param root of the repository, in which console and bridge are built
 */
export async function bundleCommand(root: string, folder: string): Promise<CommandBundle> {
  await mkdir(folder, { recursive: true });
  // Names contain digests, so that what was there before would stay.
  for (const name of await readdir(folder)) {
    if (/\.(?:c?js|bundle)$/.test(name)) await rm(join(folder, name));
  }
  const located = new LocatedFiles(root);
  const shared = {
    outdir: folder,
    format: "esm",
    charset: "utf8",
    plugins: [located.plugin()],
  } satisfies BuildOptions;
  const files = { ...shared, banner: { js: COMMON_JS } };
  const threads = await bundle(root, { ...files, entryPoints: { ...ENTRIES }, splitting: true });
  const alone = await bundle(root, { ...files, entryPoints: { ...ALONE } });
  const command = await bundle(root, {
    ...shared,
    entryPoints: { main: COMMAND },
    write: false,
    splitting: true,
  });
  located.requireAll();
  for (const [name, text] of await packChunks(command, PACKS)) {
    await writeFile(join(folder, name), text);
  }
  for (const [from, to] of Object.entries(FILES)) {
    const target = join(folder, to);
    await rm(target, { recursive: true, force: true });
    await cp(join(root, from), target, { recursive: true });
  }
  const inputs = [threads, alone, command].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const packages = bundledPackages(root, inputs);
  await writeFile(join(folder, "third-party.md"), thirdPartyPage(packages));
  return { packages };
}

/** What was made, and of what. */
interface Bundled {
  readonly metafile: Metafile;
  /** Where they are not written. */
  readonly outputFiles: readonly OutputFile[];
}

async function bundle(root: string, options: BuildOptions): Promise<Bundled> {
  const {
    metafile,
    outputFiles = [],
    warnings,
  } = await build({
    ...options,
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    target: "node24",
    // Names stay, for whom a stack trace is to help.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    external: EXTERNAL,
    metafile: true,
    logLevel: "silent",
  });
  const [warning] = warnings;
  if (warning !== undefined) {
    throw new Error(`${warning.location?.file ?? "the bundle"}: ${warning.text}`);
  }
  return { metafile, outputFiles };
}
