import { join } from "node:path";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { EXTERNAL } from "../../scripts/bundle/bundle-command.ts";
import { ALONE, COMMAND, ENTRIES, LocatedFiles } from "../../scripts/bundle/located-files.ts";

const ROOT = join(import.meta.dirname, "../../../..");

it("knows each source of the bundle that names files by its own place, and no other", {
  timeout: 120_000,
}, async () => {
  const located = new LocatedFiles(ROOT);
  const output = await build({
    absWorkingDir: ROOT,
    entryPoints: { main: COMMAND, ...ENTRIES, ...ALONE },
    outdir: "out",
    bundle: true,
    external: [...EXTERNAL],
    splitting: true,
    format: "esm",
    platform: "node",
    write: false,
    logLevel: "silent",
    plugins: [located.plugin()],
  });
  located.requireAll();
  expect(output.outputFiles.length).toBeGreaterThan(Object.keys(ENTRIES).length);
});
