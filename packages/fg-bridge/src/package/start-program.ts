import { readFile } from "node:fs/promises";
import { bundleProgram } from "../bundle-program.ts";
import { FgBridgeError } from "../errors.ts";

/** The built program is next to this file in a published package. */
const BUILT = new URL("./function-start.cjs", import.meta.url);

/** Before anything else is evaluated, in the syntax of the oldest Node that a platform may have. */
const GUARD = `(function(){var v=process.versions.node.split(".").map(Number);if(v[0]<20||v[0]===20&&v[1]<9)throw new Error("This function needs Node 20.9 or newer; "+process.execPath+" is "+process.version+". Choose a newer runtime for the function.")})();`;

/** Bundles the start program of packaged functions from its sources, as {@link bundleProgram} does it. */
export async function bundleFunctionStart(): Promise<Uint8Array> {
  return bundleProgram(new URL("./start-main.ts", import.meta.url), { begin: GUARD });
}

/**
 * The start program of packaged functions: as it was built with the package, or from the sources in a checkout.
 *
 * @throws FgBridgeError `FG_BRIDGE_UNAVAILABLE`
 */
export async function loadFunctionStart(): Promise<Uint8Array> {
  try {
    return await readFile(BUILT).catch(() => bundleFunctionStart());
  } catch (cause) {
    const text = "the start program of functions is not there";
    throw new FgBridgeError("FG_BRIDGE_UNAVAILABLE", text, { cause });
  }
}
