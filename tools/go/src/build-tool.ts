import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { runCommand } from "@stackwright-tools/processes";
import { type BuildFailure, explainBuildOutput } from "./build-failure.ts";
import type { BuildResult } from "./build-result.ts";
import { cacheFolder } from "./cache-folder.ts";
import { withFileLock } from "./file-lock.ts";
import { findGo, type GoToolchain, goEnvironment } from "./go-toolchain.ts";
import type { Tool } from "./tool.ts";
import { toolKey } from "./tool-key.ts";

/** How tools are built and where they go. */
export interface BuildOptions {
  /** @default process.env */
  readonly env?: NodeJS.ProcessEnv;
  /** Folder of built tools. @default cacheFolder(env) */
  readonly cache?: string;
  /** The Go command. @default "go" */
  readonly go?: string;
  /** How many compilers one build may run at once; Go's own choice when absent. */
  readonly jobs?: number;
  /** Stops the build in progress and those that wait. */
  readonly signal?: AbortSignal;
  /** Called before a build that takes time, not for a program in the cache. */
  readonly onBuild?: (tool: Tool) => void;
}

const RECORD = "build.json";
/** The end of the output of a failed build, where the reason is. */
const OUTPUT_CHARACTERS = 16_384;

/**
 * Builds the tools one after the other, in the order given, and never rejects for a build that
 * fails: the result says why. A result that exists is returned without running a build.
 */
export async function buildTools(
  tools: readonly Tool[],
  options: BuildOptions = {},
): Promise<BuildResult[]> {
  const results: BuildResult[] = [];
  for (const tool of tools) results.push(await buildTool(tool, options));
  return results;
}

/**
 * Builds one tool unless the cache has it.
 *
 * Invariants: a folder `<cache>/<name>/<key>` is complete as soon as it exists, because it is
 * filled under another name and renamed; only one process builds a tool at a time, so what
 * carries the temporary prefix while we hold the lock was left behind by one that was killed.
 */
export async function buildTool(tool: Tool, options: BuildOptions = {}): Promise<BuildResult> {
  const env = options.env ?? process.env;
  const go = await findGo(tool.folder, env, options.go);
  if ("reason" in go) return failed(tool, go);
  const key = toolKey(tool, go);
  const home = join(options.cache ?? cacheFolder(env), tool.name);
  const target = join(home, key);
  const found = readResult(tool, key, target, "cached");
  if (found) return found;

  const deadline = AbortSignal.timeout(tool.deadlineMs);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
  try {
    return await withFileLock(
      join(home, "lock"),
      async () => {
        const other = readResult(tool, key, target, "cached");
        if (other) return other;
        options.onBuild?.(tool);
        return compile(tool, go, { env, key, home, target, signal, jobs: options.jobs });
      },
      { signal },
    );
  } catch (error) {
    if (!signal.aborted) throw error;
    return failed(tool, stopped(tool, signal, "while another process was building it"));
  }
}

const TEMPORARY = ".building-";

async function compile(
  tool: Tool,
  go: GoToolchain,
  to: {
    readonly env: NodeJS.ProcessEnv;
    readonly key: string;
    readonly home: string;
    readonly target: string;
    readonly signal: AbortSignal;
    readonly jobs: number | undefined;
  },
): Promise<BuildResult> {
  for (const name of readdirSync(to.home)) {
    if (name.startsWith(TEMPORARY)) rmSync(join(to.home, name), { recursive: true });
  }
  const temporary = join(to.home, `${TEMPORARY}${process.pid}`);
  mkdirSync(temporary);
  try {
    const started = performance.now();
    const end = await runCommand(
      [
        go.command,
        "build",
        "-trimpath",
        "-buildvcs=false",
        ...(to.jobs === undefined ? [] : ["-p", String(to.jobs)]),
        `-ldflags=-s -w ${tool.ldflags}`.trimEnd(),
        "-o",
        join(temporary, tool.binary),
        tool.package,
      ],
      {
        cwd: tool.folder,
        env: goEnvironment(to.env),
        signal: to.signal,
        timeoutMs: tool.deadlineMs,
      },
    );
    const output = `${end.stdout}${end.stderr}`.slice(-OUTPUT_CHARACTERS);
    if (end.code !== 0 && to.signal.aborted)
      return failed(tool, stopped(tool, to.signal, "", output));
    if (end.code !== 0) return failed(tool, explainBuildOutput(output));
    const record = {
      tool: tool.name,
      version: tool.version,
      go: go.version,
      platform: go.platform,
      seconds: Math.round((performance.now() - started) / 100) / 10,
    };
    writeFileSync(join(temporary, RECORD), `${JSON.stringify(record, null, 2)}\n`);
    // An entry that exists and is not readable as a result is a damaged cache.
    rmSync(to.target, { recursive: true, force: true });
    renameSync(temporary, to.target);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  const result = readResult(tool, to.key, to.target, "built");
  if (!result) throw new Error(`go build left no ${tool.binary} in ${to.target}`);
  return result;
}

function readResult(
  tool: Tool,
  key: string,
  folder: string,
  status: "cached" | "built",
): BuildResult | undefined {
  const path = join(folder, tool.binary);
  const record = join(folder, RECORD);
  if (!existsSync(path) || !existsSync(record)) return undefined;
  const { seconds } = JSON.parse(readFileSync(record, "utf8")) as { seconds: number };
  const { name, version, required } = tool;
  return { status, name, version, required, key, path, bytes: statSync(path).size, seconds };
}

function failed(tool: Tool, failure: BuildFailure): BuildResult {
  const { name, version, required } = tool;
  return { status: "failed", name, version, required, ...failure };
}

function stopped(tool: Tool, signal: AbortSignal, when: string, output = ""): BuildFailure {
  const late = signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
  const what = late ? `not done after ${tool.deadlineMs / 60_000} minutes` : "cancelled";
  return { reason: late ? "deadline" : "cancelled", message: `${what} ${when}`.trimEnd(), output };
}
