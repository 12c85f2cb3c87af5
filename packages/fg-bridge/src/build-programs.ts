import { mkdir, writeFile } from "node:fs/promises";
import { bundleBridgeProgram } from "./bridge/bridge-program.ts";
import { bundleFunctionStart } from "./package/start-program.ts";

/* Part of the package's build: writes the programs that are handed out next to the compiled code that looks for them. */
const PROGRAMS = {
  "bridge/bridge-provider.cjs": bundleBridgeProgram,
  "package/function-start.cjs": bundleFunctionStart,
};
for (const [path, bundle] of Object.entries(PROGRAMS)) {
  const target = new URL(`../dist/${path}`, import.meta.url);
  await mkdir(new URL(".", target), { recursive: true });
  await writeFile(target, await bundle());
}
