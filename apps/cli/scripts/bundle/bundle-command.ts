import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { ENTRIES, FILES, locatedFiles } from "./located-files.ts";
import { type BundledPackage, bundledPackages, thirdPartyPage } from "./third-party.ts";

/** Development tools that a source looks for in a checkout alone, and native parts that are not installed. */
const EXTERNAL = ["esbuild", "cpu-features", "*.node"];
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
 * Bundles the command with all that it needs into the folder: few modules instead of the many of the sources, those of each command
 * loaded with it. Threads and child processes find their entries there as they do beside the sources. Equal sources give equal bytes.
 *
 * @param root of the repository, in which console and bridge are built
 */
export async function bundleCommand(root: string, folder: string): Promise<CommandBundle> {
  await mkdir(folder, { recursive: true });
  // Names contain digests, so that what was there before would stay.
  for (const name of await readdir(folder)) {
    if (name.endsWith(".js")) await rm(join(folder, name));
  }
  const { metafile, warnings } = await build({
    absWorkingDir: root,
    entryPoints: { ...ENTRIES },
    outdir: folder,
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node24",
    format: "esm",
    // Names stay, for whom a stack trace is to help.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    charset: "utf8",
    external: EXTERNAL,
    banner: { js: COMMON_JS },
    plugins: [locatedFiles(root)],
    metafile: true,
    logLevel: "silent",
  });
  const [warning] = warnings;
  if (warning !== undefined) {
    throw new Error(`${warning.location?.file ?? "the bundle"}: ${warning.text}`);
  }
  for (const [from, to] of Object.entries(FILES)) {
    const target = join(folder, to);
    await rm(target, { recursive: true, force: true });
    await cp(join(root, from), target, { recursive: true });
  }
  const packages = bundledPackages(root, Object.keys(metafile.inputs));
  await writeFile(join(folder, "third-party.md"), thirdPartyPage(packages));
  return { packages };
}
