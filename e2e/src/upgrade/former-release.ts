import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { cacheFolder } from "@stackwright-tools/go";
import { type CommandResult, runCommand } from "@stackwright-tools/processes";

/** A release that the history of the project has, built and installed as users install one. */
interface FormerRelease {
  readonly name: string;
  readonly commit: string;
  /** What of it was another way than today. */
  readonly what: string;
  /** Whether its workers have the protocol of today. */
  readonly hasProtocol: boolean;
  /** Whether PostgreSQL has the tables of today in it. */
  readonly hasTables: boolean;
}

/**
 * From the oldest to the newest. They are commits and no published versions: the history has them wherever it is whole, so that what
 * they are does not depend on a registry.
 */
export const FORMER_RELEASES = Object.freeze({
  first: {
    name: "first",
    commit: "d2639d040adc",
    what: "its server has the store and the registry, and executes nothing: commands apply",
    hasProtocol: false,
    hasTables: false,
  },
  workers: {
    name: "workers",
    commit: "57212aa3c98f",
    what: "its servers execute runs, with workers of protocol 1",
    hasProtocol: false,
    hasTables: false,
  },
  neighbour: {
    name: "neighbour",
    commit: "43d3bacd0",
    what: "the release before this one: its workers have protocol 10",
    hasProtocol: false,
    hasTables: true,
  },
} as const satisfies Readonly<Record<string, FormerRelease>>);

const ROOT = join(import.meta.dirname, "../../..");
const BUILD_MS = 15 * 60_000;
/** The folders that hold packages. */
const PARENTS = ["packages", "apps"];

/**
 * The command of a former release, installed from its tarballs: built from the history, packed, and installed with npm. What was
 * installed once stays in the cache of tools. Rejects where the history does not reach there, or a step fails.
 */
export async function installFormerRelease({ commit, name }: FormerRelease): Promise<string> {
  const place = join(cacheFolder(process.env), "former-releases", commit);
  const command = join(place, "node_modules/.bin/stackwright");
  if (existsSync(command)) return command;
  await mkdir(dirname(place), { recursive: true });
  const building = await mkdtemp(`${place}.`);
  try {
    const source = join(building, "source");
    const installed = join(building, "installed");
    await mkdir(source);
    await mkdir(installed);
    const archive = join(building, "source.tar");
    await step(name, ROOT, ["git", "archive", "--format=tar", `--output=${archive}`, commit]);
    await step(name, source, ["tar", "--extract", "--file", archive]);
    await step(name, source, [
      "pnpm",
      "install",
      "--frozen-lockfile",
      "--prefer-offline",
      "--reporter=append-only",
    ]);
    const cli = existsSync(join(source, "apps/cli")) ? "stackwright" : "@stackwright/engine";
    await step(name, source, [
      join(source, "node_modules/.bin/turbo"),
      "run",
      "build",
      `--filter=${cli}`,
      "--output-logs=errors-only",
    ]);
    const tarballs = await pack(name, source, join(building, "tarballs"));
    await writeFile(join(installed, "package.json"), '{"private":true}\n');
    await step(name, installed, [
      "npm",
      "install",
      "--prefer-offline",
      "--no-audit",
      "--no-fund",
      "--omit=optional",
      ...tarballs,
    ]);
    await rm(place, { recursive: true, force: true });
    await rename(installed, place);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return command;
}

/** Packs the packages that were built. */
async function pack(name: string, source: string, destination: string): Promise<string[]> {
  await mkdir(destination);
  for (const parent of PARENTS) {
    for (const folder of await readdir(join(source, parent))) {
      const path = join(source, parent, folder);
      if (!existsSync(join(path, "dist"))) continue;
      const manifest = JSON.parse(await readFile(join(path, "package.json"), "utf8")) as {
        readonly private?: boolean;
      };
      if (manifest.private === true) continue;
      await step(name, path, ["pnpm", "pack", "--pack-destination", destination]);
    }
  }
  return (await readdir(destination)).map((file) => join(destination, file));
}

async function step(
  name: string,
  cwd: string,
  words: readonly [string, ...string[]],
): Promise<CommandResult> {
  // The Node of this process in front, and nothing that says where this workspace is.
  const bin = join(ROOT, "node_modules/.bin");
  const path = [dirname(process.execPath), bin, process.env["PATH"] ?? ""].join(delimiter);
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([key]) => !/^(?:npm_|pnpm_|VITEST|NODE_OPTIONS)/i.test(key),
    ),
  );
  const result = await runCommand(words, {
    cwd,
    env: { ...env, PATH: path, CI: "true", TURBO_TELEMETRY_DISABLED: "1" },
    timeoutMs: BUILD_MS,
  });
  if (result.code !== 0) {
    const said = `${result.stdout}${result.stderr}`.slice(-4_000);
    throw new Error(
      `the release "${name}": ${words.join(" ")} ended with ${result.code}:\n${said}`,
    );
  }
  return result;
}
