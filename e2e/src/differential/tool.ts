import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { runCommand } from "stackwright";
import { type JsonObject, objectOf, parseExact } from "./exact-json.ts";

/** How one of the two commands is called. What they print as JSON has the same form. */
export interface Tool {
  readonly name: string;
  /** Runs it once; rejects when it takes longer than two minutes. */
  start(call: ToolCall): Promise<Finished>;
  /** Name of the command that applies a saved plan. */
  readonly apply: string;
  /** Words that show a saved plan as JSON with all values, those of secrets included. */
  readonly show: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Takes the state of a case over into the folder. */
  importState(run: ToolRun, path: string): Promise<void>;
  /** Changes what is recorded: `taint`, `untaint`, `state rm`, `state mv`, `import`, with their arguments. */
  stateEdits(
    run: ToolRun,
    words: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<void>;
  /** The state of the folder in the version 4 format; an empty object where there is none. */
  state(run: ToolRun): Promise<JsonObject>;
}

/** One call of a command. */
interface ToolCall {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

interface Finished {
  readonly code: number;
  readonly output: string;
  readonly error: string;
}

/** One working folder in which a tool is run. */
export interface ToolRun {
  readonly work: string;
  /** Runs the tool; rejects when it takes longer than two minutes. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Finished>;
  /** Runs it with line-wise JSON output. */
  stream(
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number; readonly events: readonly JsonObject[] }>;
}

const DEADLINE_MS = 120_000;

export function openToolRun(
  tool: Tool,
  place: { readonly scratch: string; readonly work: string; readonly configuration: string },
): ToolRun {
  const { scratch, work } = place;
  const run: ToolRun["run"] = async (args, env = {}) =>
    tool.start({
      args,
      cwd: work,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: scratch,
        TMPDIR: scratch,
        CHECKPOINT_DISABLE: "1",
        TF_CLI_CONFIG_FILE: place.configuration,
        TF_IN_AUTOMATION: "1",
        TF_INPUT: "0",
        LC_ALL: "C.UTF-8",
        TZ: "UTC",
        ...tool.env,
        ...env,
      },
    });
  return {
    work,
    run,
    stream: async (args, env) => {
      const { code, output, error } = await run(args, env);
      const events = output
        .split("\n")
        .filter((line) => line.trim() !== "")
        .map((line) => {
          try {
            return objectOf(parseExact(line));
          } catch {
            throw new Error(
              `${tool.name} ${args[0] ?? ""} wrote a line that is not JSON: ${line}\n${error}`,
            );
          }
        });
      if (events.length === 0 && code !== 0) {
        throw new Error(`${tool.name} ${args.join(" ")} ended with ${code}: ${error}`);
      }
      return { code, events };
    },
  };
}

/** Starts a process for every call. */
function processes(name: string, [program = "", ...first]: readonly string[]): Tool["start"] {
  return async ({ args, cwd, env }) => {
    const child = spawn(program, [...first, ...args], {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: DEADLINE_MS,
      killSignal: "SIGKILL",
    });
    const output: Buffer[] = [];
    const error: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => error.push(chunk));
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        if (code === null) reject(new Error(`${name} ${args[0] ?? ""} ended by ${signal ?? ""}`));
        else {
          resolve({
            code,
            output: Buffer.concat(output).toString("utf8"),
            error: Buffer.concat(error).toString("utf8"),
          });
        }
      });
    });
  };
}

/** Runs the command in this process: a start of its own costs more than most of what the cases do. */
const inProcess: Tool["start"] = async ({ args, cwd, env }) => {
  const output: Buffer[] = [];
  const error: Buffer[] = [];
  const into = (chunks: Buffer[]): Writable =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        chunks.push(chunk);
        done();
      },
    });
  const code = await runCommand(args, {
    streams: { input: Readable.from([]), output: into(output), error: into(error), env },
    cwd,
    signal: AbortSignal.timeout(DEADLINE_MS),
    forceSignal: AbortSignal.timeout(DEADLINE_MS),
  });
  return {
    code,
    output: Buffer.concat(output).toString("utf8"),
    error: Buffer.concat(error).toString("utf8"),
  };
};

/** The real command. */
export function terraformTool(program: string): Tool {
  return {
    name: "terraform",
    start: processes("terraform", [program]),
    apply: "apply",
    show: ["show", "-json"],
    env: {},
    importState: async () => {
      // The state of a case is already in the place where the command reads it.
    },
    stateEdits: async (run, words, env) => {
      const { code, error } = await run.run([...words], env);
      if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}: ${error}`);
    },
    state: async ({ work }) => {
      const path = join(work, "terraform.tfstate");
      const text = existsSync(path) ? readFileSync(path, "utf8") : "{}";
      return objectOf(parseExact(text === "" ? "{}" : text));
    },
  };
}

/**
 * Ours, each case on a separate store next to the working folder. Without a command to start it runs in this process.
 */
export function stackwrightTool(command: readonly string[] | undefined, store: string): Tool {
  return {
    name: "stackwright",
    start: command === undefined ? inProcess : processes("stackwright", command),
    apply: "up",
    show: ["show", "-json", "-show-secrets"],
    env: { STACKWRIGHT_DIR: store, NO_COLOR: "1" },
    importState: async (run, path) => {
      const { code, error } = await run.run(["import-state", "--json", path]);
      if (code !== 0 && code !== 2) throw new Error(`import-state ended with ${code}: ${error}`);
    },
    stateEdits: async (run, words, env) => {
      const own = words[0]?.endsWith("taint") === true ? ["state", ...words] : words;
      const { code, error } = await run.run([...own, "--yes"], env);
      if (code !== 0) throw new Error(`${own.join(" ")} ended with ${code}: ${error}`);
    },
    state: async (run) => {
      const { code, output, error } = await run.run(["export-state"]);
      if (code !== 0) throw new Error(`export-state ended with ${code}: ${error}`);
      return objectOf(parseExact(output.trim() === "" ? "{}" : output));
    },
  };
}
