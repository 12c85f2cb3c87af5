import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ServerError } from "../domain/server-error.ts";
import { type PolicyUpload, readPolicyUpload } from "./read-upload.ts";

const run = promisify(execFile);

/** How long the compiler may take. */
const COMPILE_MS = 30_000;

/** Compiles sources in Rego by the `opa` command that the operator of the server named. `unprocessable` with its words where it refuses. */
export async function compileRego(
  command: readonly string[],
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
  given: readonly string[],
): Promise<Exclude<PolicyUpload, { format: "rego" }>> {
  const [program, ...words] = command;
  if (program === undefined) {
    throw new ServerError(
      "unprocessable",
      "this server compiles no Rego: upload what opa build -t wasm writes, or name the command with --opa-command",
    );
  }
  const packages = given.length > 0 ? given : packagesOf(files);
  const entrypoints = [...new Set([...packages, ...allowRulesOf(files, packages)])];
  await using scratch = await mkdtempDisposable(join(tmpdir(), "policy-"));
  // Names of our own: those of an archive may lead anywhere.
  const names: string[] = [];
  for (const [path, content] of files) {
    const name = path === "data.json" ? path : `source-${names.length}.rego`;
    await writeFile(join(scratch.path, name), content);
    names.push(name);
  }
  const out = "bundle.tar.gz";
  const named = entrypoints.flatMap((one) => ["-e", one]);
  try {
    await run(program, [...words, "build", "-t", "wasm", ...named, "-o", out, ...names], {
      cwd: scratch.path,
      env: { PATH: process.env["PATH"], HOME: scratch.path },
      timeout: COMPILE_MS,
      killSignal: "SIGKILL",
      maxBuffer: 1024 * 1024,
    });
  } catch (error) {
    const { stderr, stdout, code } = error as {
      readonly stderr?: string;
      readonly stdout?: string;
      readonly code?: unknown;
    };
    if (code === "ENOENT") {
      throw new ServerError("internal", `the command ${program} of --opa-command was not found`);
    }
    // It says on its standard output what is wrong with a source.
    const said = `${stdout ?? ""}\n${stderr ?? ""}`.trim().slice(0, 2_000);
    throw new ServerError(
      "unprocessable",
      `the policies cannot be compiled: ${said === "" ? "the compiler failed" : said}`,
      { cause: error },
    );
  }
  const built = readPolicyUpload(Uint8Array.from(await readFile(join(scratch.path, out))));
  if (built.format !== "rego") return built;
  throw new ServerError("internal", "the compiler wrote no WebAssembly module");
}

/**
 * Rules `allow` of packages, as entry points of their own: one that is undefined is absent in its package, as if there were none, and
 * would forbid nothing.
 */
function allowRulesOf(
  files: ReadonlyMap<string, Uint8Array>,
  packages: readonly string[],
): readonly string[] {
  return [...files.values()].flatMap((content) => {
    const text = Buffer.from(content).toString("utf8");
    const name = packageOf(text);
    // Rules begin their lines, as `opa fmt` writes them; one with arguments is a function.
    const hasRule = /^(?:default\s+)?allow\b(?!\s*\()/mu.test(text);
    return hasRule && name !== undefined && packages.includes(name) ? [`${name}/allow`] : [];
  });
}

function packageOf(text: string): string | undefined {
  const [, name] = /^[ \t]*package\s+([\w.]+)[^\S\n]*(?:#.*)?$/mu.exec(text) ?? [];
  return name?.replaceAll(".", "/");
}

/** The packages of sources, as entry points. */
function packagesOf(files: ReadonlyMap<string, Uint8Array>): readonly string[] {
  const found = new Set<string>();
  for (const content of files.values()) {
    const name = packageOf(Buffer.from(content).toString("utf8"));
    if (name !== undefined) found.add(name);
  }
  if (found.size > 0) return [...found].toSorted();
  throw new ServerError("unprocessable", "name the entry points, such as ?entrypoint=stackwright");
}
