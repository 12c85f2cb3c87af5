import { execFile } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, it, onTestFinished } from "vitest";
import { packChunks } from "../../scripts/bundle/packed-chunks.ts";

const RUN_BUNDLE = join(import.meta.dirname, "../../bin/run-bundle.cjs");

/** Bundles the modules as the command is bundled, with one pack of what `main.ts` imports. */
async function bundled(modules: Readonly<Record<string, string>>) {
  const folder = await bundledFolder(modules);
  return () => {
    const bin = createRequire(import.meta.url)(RUN_BUNDLE) as {
      readonly runBundle: (folder: string) => void;
    };
    bin.runBundle(folder);
  };
}

async function bundledFolder(modules: Readonly<Record<string, string>>): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "packed-chunks-"));
  onTestFinished(() => scratch.remove());
  for (const [name, text] of Object.entries(modules)) {
    await writeFile(join(scratch.path, name), text);
  }
  const output = await build({
    absWorkingDir: scratch.path,
    entryPoints: ["main.ts"],
    outdir: "out",
    bundle: true,
    external: ["./apart.mjs"],
    splitting: true,
    format: "esm",
    platform: "node",
    metafile: true,
    write: false,
  });
  const packs = [
    { file: "start.bundle", sources: ["main.ts"] },
    { file: "command.bundle", sources: [] },
  ];
  for (const [name, text] of await packChunks(output, packs)) {
    await writeFile(join(scratch.path, name), text);
  }
  return scratch.path;
}

it("loads modules later also where a source has functions of its own that load", async () => {
  const key = `packed-chunks-${process.pid}`;
  const run = await bundled({
    "main.ts": `import { readFileSync } from "node:fs";
      async function load(key: { kind: string }) { return key.kind; }
      function builtin(text: string) { return text; }
      const done = async () => {
        const { late } = await import("./late.ts");
        return [await load({ kind: "own" }), builtin("own"), late, typeof readFileSync];
      };
      (globalThis as Record<string, unknown>)[${JSON.stringify(key)}] = done();`,
    "late.ts": `export const late = "loaded";`,
  });
  run();
  const found = globalThis as Record<string, unknown>;
  expect(await found[key]).toEqual(["own", "own", "loaded", "function"]);
  delete found[key];
});

it("imports what is no chunk without a warning of Node", async () => {
  const folder = await bundledFolder({
    "main.ts": `import("./apart.mjs").then(async ({ apart }) => {
      const { createServer } = await import("node:http");
      console.log(apart, typeof createServer);
    });`,
    "apart.mjs": `export const apart = import.meta.filename === undefined ? "" : "a file";`,
  });
  const start = "require(process.argv[1]).runBundle(process.argv[2])";
  const run = promisify(execFile)(process.execPath, ["-e", start, RUN_BUNDLE, folder], {
    timeout: 30_000,
  });
  expect(await run).toEqual({ stdout: "a file function\n", stderr: "" });
});

it("refuses a source that has a name of the bundle", async () => {
  const made = bundled({ "main.ts": "const loadOfBundle = 1; console.log(loadOfBundle);" });
  await expect(made).rejects.toThrow("loadOfBundle");
});
