import type { PackEntry } from "@stackwright/provider-source";
import { FUNCTION_MANIFEST, type FunctionManifest } from "./function-manifest.ts";
import { FUNCTION_PLATFORMS, FUNCTION_START } from "./function-platform.ts";
import { loadFunctionStart } from "./start-program.ts";

/**
 * The files of a function for the platform of its manifest: what the platform starts, the manifest, and the given content, which is what
 * the manifest runs. The same content gives the same files.
 *
 * @throws FgBridgeError `FG_BRIDGE_UNAVAILABLE`
 */
export async function functionFiles(
  manifest: FunctionManifest,
  content: readonly PackEntry[],
): Promise<readonly PackEntry[]> {
  return [
    ...FUNCTION_PLATFORMS[manifest.platform].files.map(({ text, ...file }) => ({
      ...file,
      content: Buffer.from(text),
    })),
    { path: FUNCTION_START, content: await loadFunctionStart() },
    {
      path: FUNCTION_MANIFEST,
      content: Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`),
    },
    ...content,
  ];
}
