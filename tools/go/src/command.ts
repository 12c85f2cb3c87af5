import { parseArgs } from "node:util";
import type { BuildResult } from "./build-result.ts";
import { type BuildOptions, buildTools } from "./build-tool.ts";
import { discoverTools, type Tool, toolsFolder } from "./tool.ts";

const USAGE = `usage: node tools/go/build.ts [options] [name ...]

Builds the Go programs under tools/ that live tests need, all of them when none is named.
Prints one line per tool: name and path, or the reason why there is none.

  --list        list the available tools, build nothing
  --json        print the results as one JSON array
  --jobs <n>    compilers that one build may run at once
  --cache <dir> folder for results (STACKWRIGHT_TOOLS_CACHE, else the user's cache folder)
  --help        this text

Exit code 1 when a tool that was named, or that is required, could not be built.
`;

/** Where the command writes; a test gives its own. */
interface CommandOutput {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

const PROCESS_OUTPUT: CommandOutput = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
};

/** The command line: returns the exit code. SIGINT and SIGTERM stop the build in progress. */
export async function runBuildCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  options: { readonly tools?: string; readonly go?: string; readonly output?: CommandOutput } = {},
): Promise<number> {
  const { out, err } = options.output ?? PROCESS_OUTPUT;
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(argv);
  } catch (error) {
    err(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  const { values, positionals } = parsed;
  if (values.help) {
    out(USAGE);
    return 0;
  }
  const all = discoverTools(options.tools ?? toolsFolder());
  const unknown = positionals.filter((name) => !all.some((tool) => tool.name === name));
  if (unknown.length > 0) {
    err(
      `no such tool: ${unknown.join(", ")}; there are ${all.map((tool) => tool.name).join(", ")}\n`,
    );
    return 2;
  }
  // A tool that was requested by name is required, regardless of its definition.
  const chosen = all
    .filter((tool) => positionals.length === 0 || positionals.includes(tool.name))
    .map((tool) => (positionals.length === 0 ? tool : { ...tool, required: true }));
  if (values.list) {
    out(values.json ? `${JSON.stringify(chosen, null, 2)}\n` : chosen.map(listLine).join(""));
    return 0;
  }

  const interrupt = new AbortController();
  const stop = () => interrupt.abort(new Error("interrupted"));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    const build: BuildOptions = {
      env,
      signal: interrupt.signal,
      onBuild: (tool) => err(`building ${tool.name} ${tool.version}\n`),
      ...(values.cache === undefined ? {} : { cache: values.cache }),
      ...(values.jobs === undefined ? {} : { jobs: Number(values.jobs) }),
      ...(options.go === undefined ? {} : { go: options.go }),
    };
    const results = await buildTools(chosen, build);
    for (const result of results) {
      if (result.status === "failed" && result.output) err(`${indent(result.output)}\n`);
    }
    out(values.json ? `${JSON.stringify(results, null, 2)}\n` : results.map(resultLine).join(""));
    return results.some((result) => result.status === "failed" && result.required) ? 1 : 0;
  } finally {
    process.removeListener("SIGINT", stop).removeListener("SIGTERM", stop);
  }
}

function parse(argv: readonly string[]) {
  const parsed = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      list: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      jobs: { type: "string" },
      cache: { type: "string" },
    },
  });
  const { jobs } = parsed.values;
  if (jobs !== undefined && !/^[1-9]\d*$/.test(jobs)) {
    throw new Error(`--jobs must be a positive whole number, found "${jobs}"`);
  }
  return parsed;
}

function listLine(tool: Tool): string {
  const need = tool.required ? "" : " (optional)";
  return `${tool.name} ${tool.version}${need}: ${tool.description}\n`;
}

function resultLine(result: BuildResult): string {
  return result.status === "failed"
    ? `${result.name}: not built (${result.reason}): ${result.message}\n`
    : `${result.name}: ${result.path}\n`;
}

function indent(text: string): string {
  return text
    .trimEnd()
    .split("\n")
    .slice(-40)
    .map((line) => `  ${line}`)
    .join("\n");
}
