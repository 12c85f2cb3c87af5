import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, copyFile, mkdtempDisposable, open, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";
import { requireCommand } from "@stackwright-tools/processes";
import { build } from "esbuild";
import { ReleaseError } from "../release-error.ts";
import { FUSE } from "./fuse.ts";

const POSTJECT = createRequire(import.meta.url).resolve("postject/dist/cli.js");

/** What an executable is made of. */
interface ExecutableInputs {
  /** What is published as `stackwright`, laid out by `prepack` of the command. */
  readonly packageFolder: string;
  /** A program of Node for Linux, of the version that runs this. */
  readonly node: string;
  readonly output: string;
}

/**
 * Makes one file that runs without Node: Node's program with the files of the command added to it. Equal inputs give equal bytes.
 * The machine that it is for may be another one than this, as nothing of it is run.
 */
export async function buildExecutable({
  packageFolder,
  node,
  output,
}: ExecutableInputs): Promise<void> {
  await requireSameVersion(node);
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-executable-"));
  const inScratch = { cwd: scratch.path };
  await build({
    entryPoints: [join(import.meta.dirname, "launch.ts")],
    outfile: join(scratch.path, "main.cjs"),
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    logLevel: "silent",
  });
  const files = filesBelow(packageFolder);
  const sizes = Object.fromEntries(
    files.map((name) => [name, statSync(join(packageFolder, name)).size]),
  );
  const digest = digestOf(packageFolder, files, node);
  await writeFile(join(scratch.path, "index"), JSON.stringify({ digest, sizes }));
  await writeFile(
    join(scratch.path, "sea.json"),
    JSON.stringify({
      // Becomes part of the bytes, so it is the same wherever this runs.
      main: "main.cjs",
      output: "blob",
      disableExperimentalSEAWarning: true,
      // Options of NODE_OPTIONS count, as with any Node.
      execArgvExtension: "env",
      assets: {
        index: "index",
        ...Object.fromEntries(files.map((name) => [name, join(packageFolder, name)])),
      },
    }),
  );
  await requireCommand([process.execPath, "--experimental-sea-config", "sea.json"], inScratch);
  await copyFile(node, output);
  await chmod(output, 0o755);
  // As a process: it takes the memory of both, and warns of names that Node's program does without.
  const words = [POSTJECT, output, "NODE_SEA_BLOB", "blob", "--sentinel-fuse", FUSE] as const;
  await requireCommand([process.execPath, ...words], { ...inScratch, timeoutMs: 120_000 });
}

/** The name of the platform that a program is for, by its header. */
export async function platformOf(program: string): Promise<string> {
  await using file = await open(program);
  const { buffer } = await file.read(Buffer.alloc(20), 0, 20, 0);
  const machine = new Map([
    [0x3e, "x64"],
    [0xb7, "arm64"],
  ]).get(buffer.readUInt16LE(18));
  if (buffer.toString("latin1", 0, 4) !== "\u007fELF" || machine === undefined) {
    throw new ReleaseError(
      "RELEASE_NODE_INVALID",
      `${program} is not a program for Linux on x64 or arm64`,
    );
  }
  return `linux-${machine}`;
}

/** What Node reads at its start has the form of its own version. */
async function requireSameVersion(node: string): Promise<void> {
  if (node === process.execPath) return;
  if (!(await readFile(node)).includes(`node ${process.version}`)) {
    throw new ReleaseError(
      "RELEASE_NODE_INVALID",
      `${node} is not Node ${process.version}, which runs this`,
    );
  }
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();
}

function digestOf(folder: string, files: readonly string[], node: string): string {
  const hash = createHash("sha256").update(readFileSync(node));
  for (const name of files) {
    const content = readFileSync(join(folder, name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex").slice(0, 32);
}
