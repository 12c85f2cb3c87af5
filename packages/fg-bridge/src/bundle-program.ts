import { fileURLToPath } from "node:url";
import { FgBridgeError } from "./errors.ts";

/**
 * Bundles a program from its sources into one file of CommonJS, for the Node of others. Needs esbuild, which is a development
 * dependency: a published package has the results with it.
 *
 * @param begin runs before anything else of the program
 */
export async function bundleProgram(
  entry: URL,
  { begin = "" }: { readonly begin?: string } = {},
): Promise<Uint8Array> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    minify: true,
    keepNames: true,
    legalComments: "eof",
    banner: { js: begin },
    write: false,
    logLevel: "silent",
  });
  const [output] = outputFiles;
  if (output === undefined) {
    throw new FgBridgeError("FG_BRIDGE_UNAVAILABLE", "the program could not be bundled");
  }
  return output.contents;
}
