import { createRequire, isBuiltin } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { PackEntry } from "@stackwright/provider-source";
import { CommandError } from "../command-error.ts";
import { printableLines } from "../terminal/printable.ts";

/** What is used of the bundler, which comes with the project and not with the command. */
interface Bundler {
  readonly rolldown: (options: object) => Promise<{
    generate(options: object): Promise<{ readonly output: readonly BundlerOutput[] }>;
    close(): Promise<void>;
  }>;
}

type BundlerOutput =
  | {
      readonly type: "chunk";
      readonly fileName: string;
      readonly code: string;
      readonly imports: readonly string[];
      readonly dynamicImports: readonly string[];
    }
  | { readonly type: "asset"; readonly fileName: string; readonly source: string | Uint8Array };

/** The oldest Node of a platform that is supported. */
const TARGET = "node20";
/** How the bundler calls an import that it does not find; it leaves it in the bundle then. */
const UNRESOLVED = "UNRESOLVED_IMPORT";

/**
 * Bundles a module of a project with all that it imports: the files find nothing outside of themselves but what Node has. Equal sources
 * give equal bytes, in whichever folder they are.
 */
export async function bundleModule(
  entry: string,
  { directory, fileName }: { readonly directory: string; readonly fileName: string },
): Promise<readonly PackEntry[]> {
  const { rolldown } = await loadBundler(directory);
  const missing: string[] = [];
  let output: readonly BundlerOutput[];
  try {
    const bundle = await rolldown({
      input: resolve(directory, entry),
      cwd: directory,
      platform: "node",
      transform: { target: TARGET },
      // The names of folders are no part of what is made.
      experimental: { attachDebugInfo: "none" },
      onLog: (_level: string, log: { readonly code?: string; readonly message: string }) => {
        if (log.code === UNRESOLVED) missing.push(log.message);
      },
    });
    try {
      ({ output } = await bundle.generate({
        format: "esm",
        entryFileNames: fileName,
        codeSplitting: false,
      }));
    } finally {
      await bundle.close();
    }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new CommandError(`"${entry}" cannot be bundled: ${printableLines(text)}`, {
      cause: error,
      advice: "Where a package brings native code, it cannot be part of a bundle.",
    });
  }
  const outside = output.flatMap((one) =>
    one.type === "chunk" ? [...one.imports, ...one.dynamicImports] : [],
  );
  const own = new Set(output.map(({ fileName }) => fileName));
  const left = [...new Set(outside)].filter((name) => !isBuiltin(name) && !own.has(name));
  if (missing.length > 0 || left.length > 0) {
    const what = left.length > 0 ? left.join(", ") : printableLines(missing.join("\n"));
    throw new CommandError(`"${entry}" cannot be bundled: it imports what is not there: ${what}.`, {
      advice:
        "Install it (npm install), or take the import out: it is not there where the bundle runs.",
    });
  }
  return output.map((one) => ({
    path: one.fileName,
    content: Buffer.from(one.type === "chunk" ? one.code : one.source),
  }));
}

async function loadBundler(directory: string): Promise<Bundler> {
  let path: string;
  try {
    path = createRequire(join(directory, "package.json")).resolve("rolldown");
  } catch (cause) {
    throw new CommandError("The project has no bundler.", {
      cause,
      advice: "Install it: npm install --save-dev rolldown",
    });
  }
  const file: string = pathToFileURL(path).href;
  return (await import(file)) as Bundler;
}
