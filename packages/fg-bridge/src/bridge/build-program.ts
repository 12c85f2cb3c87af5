import { mkdir, writeFile } from "node:fs/promises";
import { bundleBridgeProgram } from "./bridge-program.ts";

/* Part of the package's build: writes the program of the bridge next to its compiled code. */
const target = new URL("../../dist/bridge/", import.meta.url);
await mkdir(target, { recursive: true });
await writeFile(new URL("bridge-provider.cjs", target), await bundleBridgeProgram());
