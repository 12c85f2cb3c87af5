import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { policyBundle } from "../testing/policies/read-policies.ts";
import { compileRego } from "./compile-rego.ts";

const files = new Map([["a/../b.rego", new TextEncoder().encode("package acme.buckets\n")]]);

/** A compiler that runs a module of the test with the arguments of `opa`. */
async function compile(
  module: string,
  entrypoints: readonly string[] = [],
  sources: ReadonlyMap<string, Uint8Array<ArrayBuffer>> = files,
) {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "compiler-"));
  const script = join(scratch.path, "opa.mjs");
  await writeFile(join(scratch.path, "policies.tar.gz"), policyBundle());
  await writeFile(script, module);
  return await compileRego([process.execPath, script], sources, entrypoints);
}

const WRITES = `
import { copyFileSync, readFileSync } from "node:fs";
const words = process.argv.slice(2).join(" ");
const expected = "build -t wasm -e acme/buckets -o bundle.tar.gz source-0.rego";
if (words !== expected || !readFileSync("source-0.rego", "utf8").includes("acme")) throw new Error(words);
copyFileSync(new URL("policies.tar.gz", import.meta.url), "bundle.tar.gz");
`;

it("gives sources to the command under names of its own, with their packages as entry points", async () => {
  expect(await compile(WRITES)).toMatchObject({ format: "bundle" });
});

it.each([
  ['allow if input.run.actor == "ann"', [], "-e acme -e acme/allow"],
  ["default allow := false", ["acme"], "-e acme -e acme/allow"],
  ["allow if true", ["acme/deny"], "-e acme/deny"],
  ["allow(x) if x", [], "-e acme"],
  ["allowed if true", [], "-e acme"],
])("compiles %s, asked for %j, with %s", async (rule, given, expected) => {
  const says = "console.log(process.argv.slice(2).join(' ')); process.exitCode = 1;";
  const source = new TextEncoder().encode(`package acme\n\n${rule}\n`);
  await expect(compile(says, given, new Map([["a.rego", source]]))).rejects.toThrow(
    `build -t wasm ${expected} -o`,
  );
});

it("repeats what the command says about a source, and refuses sources without a command", async () => {
  const refuses = 'console.log("error: unexpected eof"); process.exitCode = 1;';
  await expect(compile(refuses)).rejects.toMatchObject({
    code: "unprocessable",
    message: "the policies cannot be compiled: error: unexpected eof",
  });
  await expect(compileRego([], files, [])).rejects.toMatchObject({ code: "unprocessable" });
});
