import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { bundleProgram } from "../bundle-program.ts";
import { FgBridgeError } from "../errors.ts";
import { type BridgeManifest, MANIFEST_GLOBAL } from "./bridge-binding.ts";

/** The program of the bridge in one file, for Node. */
export interface BridgeProgram {
  readonly source: Uint8Array;
  /** Changes with the source. */
  readonly revision: string;
}

/** The built program is next to this file in a published package. */
const BUILT = new URL("./bridge-provider.cjs", import.meta.url);

/** Bundles the program from its sources, as {@link bundleProgram} does it. */
export async function bundleBridgeProgram(): Promise<Uint8Array> {
  return bundleProgram(new URL("./bridge-main.ts", import.meta.url));
}

/**
 * The program: as it was built with the package, or from the sources in a checkout.
 *
 * @throws FgBridgeError `FG_BRIDGE_UNAVAILABLE`
 */
export async function loadBridgeProgram(): Promise<BridgeProgram> {
  let source: Uint8Array;
  try {
    source = await readFile(BUILT).catch(() => bundleBridgeProgram());
  } catch (cause) {
    throw new FgBridgeError("FG_BRIDGE_UNAVAILABLE", "the program of the bridge is not there", {
      cause,
    });
  }
  const revision = createHash("sha256").update(source).digest("hex").slice(0, 32);
  return { source, revision };
}

/** The oldest Node that runs the program: the first release of line 20 with long-term support. */
const OLDEST_NODE = [20, 9] as const;

/**
 * Refuses an older Node in one line, before anything else of the program is evaluated. In the syntax of the oldest Node that may be
 * there.
 */
const GUARD = `(function(){var v=process.versions.node.split(".").map(Number);if(v[0]<${OLDEST_NODE[0]}||v[0]===${OLDEST_NODE[0]}&&v[1]<${OLDEST_NODE[1]}){process.stderr.write("This provider needs Node ${OLDEST_NODE.join(".")} or newer; "+process.execPath+" is "+process.version+". Put a newer node first in PATH.\\n");process.exit(1)}})();`;

/** An executable for one provider: the program, and before it what it is a bridge to. */
export function packBridgeExecutable(program: BridgeProgram, manifest: BridgeManifest): Uint8Array {
  const data = JSON.stringify(manifest).replaceAll("<", "\\u003c");
  const head = `#!/usr/bin/env node\n"use strict";${GUARD}globalThis.${MANIFEST_GLOBAL}=${data};\n`;
  return Buffer.concat([Buffer.from(head), program.source]);
}
