import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { EngineError } from "@stackwright/core/errors";
import { nearOption } from "./near-option.ts";
import {
  booleanOf,
  listOf,
  nearVariables,
  SERVE_VARIABLES,
  variableLines,
  variableOf,
  variableText,
} from "./option-variables.ts";
import { SERVE_OPTIONS } from "./serve-flags.ts";
import type { ServerOptions } from "./server-options.ts";

/** The options of a server, one a line, and by which variables they are given. */
export function serveOptionLines(): string {
  const rows = [
    ["config", "file with options, as JSON"],
    ...Object.entries(SERVE_OPTIONS).map(([name, { help }]) => [name, help]),
  ];
  const lines = rows.map(([name = "", help]) => `  --${name.padEnd(24)} ${help}\n`).join("");
  return `${lines}\n${variableLines(SERVE_VARIABLES, "max-providers")}Both win over the file.\n`;
}

/** What to say when a server starts of variables that most likely have a mistake in their names, as sentences. */
export function serveVariableWarnings(env: NodeJS.ProcessEnv): readonly string[] {
  const options = ["config", ...Object.keys(SERVE_OPTIONS)];
  return nearVariables(SERVE_VARIABLES, options, env).map(
    ({ variable, meant }) =>
      `the variable ${variable} gives no option of the server. Did you mean ${meant}?`,
  );
}

/**
 * Options of a server from the arguments of a command, from variables such as `STACKWRIGHT_SERVE_PORT`, and from the file that `--config`
 * or its variable names (JSON): the earlier of these win, option by option. Where none names a store or a table of functions, those of all commands
 * count (`STACKWRIGHT_STORE`, `STACKWRIGHT_FUNCTIONS`). They are checked by {@link serve}; what a variable gives is checked here, to name it.
 *
 * `ENGINE_CONFIG_INVALID` for options that do not exist, values of variables that are invalid, and files that cannot be read.
 */
export async function parseServeArguments(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<ServerOptions> {
  const values = readFlags(args);
  const options = await fileOptions(values["config"], env, directory);
  const given: GivenByVariable[] = [];
  for (const [name, { path, kind }] of Object.entries(SERVE_OPTIONS)) {
    const value = values[name];
    const text = variableText(SERVE_VARIABLES, name, env);
    if (value !== undefined) assign(options, path, read(`--${name}`, kind, value));
    else if (text !== undefined) {
      const variable = variableOf(SERVE_VARIABLES, name);
      const one = { variable, path, value: readVariable(variable, kind, text) };
      given.push(one);
      assign(options, path, one.value);
    }
  }
  await checkVariables(given);
  const store = options["store"] ?? env["STACKWRIGHT_STORE"];
  const functionsFile = options["functionsFile"] ?? (env["STACKWRIGHT_FUNCTIONS"] || undefined);
  return {
    ...options,
    ...(store === undefined ? {} : { store }),
    ...(functionsFile === undefined ? {} : { functionsFile }),
  } as ServerOptions;
}

interface GivenByVariable {
  readonly variable: string;
  readonly path: readonly string[];
  readonly value: unknown;
}

async function checkVariables(given: readonly GivenByVariable[]): Promise<void> {
  if (given.length === 0) return;
  // Here, as this module is loaded by every command, and most need no schema.
  const { optionProblem } = await import("./server-options.ts");
  const problems = given.flatMap(({ variable, path, value }) => {
    const problem = optionProblem(path, value);
    return problem === undefined ? [] : [`${variable} ${problem}`];
  });
  if (problems.length > 0) throw invalid(`the server cannot start: ${problems.join("; ")}`);
}

/** The options of the file that the option or the variable names; none without such a file. */
async function fileOptions(
  named: Value,
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<Record<string, unknown>> {
  const text = variableText(SERVE_VARIABLES, "config", env);
  const file = typeof named === "string" ? named : text;
  if (file === undefined) return {};
  const path = resolve(directory, file);
  const by = typeof named === "string" ? "" : ` of ${variableOf(SERVE_VARIABLES, "config")}`;
  return withKeyFiles(await readConfigFile(path, by), path);
}

const KEY_FILES: ReadonlySet<string> = new Set(["keyFile", "formerKeyFile"]);

/** The files of keys that a configuration file names are relative to it, wherever the server is started. */
function withKeyFiles(
  options: Record<string, unknown>,
  configuration: string,
): Record<string, unknown> {
  const named = Object.entries(options).map(([name, value]) =>
    KEY_FILES.has(name) && typeof value === "string"
      ? [name, resolve(dirname(configuration), value)]
      : [name, value],
  );
  return Object.fromEntries(named) as Record<string, unknown>;
}

type Value = string | boolean | (string | boolean)[] | undefined;

function readFlags(args: readonly string[]): Readonly<Record<string, Value>> {
  const flags = Object.entries(SERVE_OPTIONS).map(([name, { kind }]) => [
    name,
    { type: kind === "boolean" ? "boolean" : "string", multiple: kind === "list" } as const,
  ]);
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...(Object.fromEntries(flags) as Record<string, { type: "string" | "boolean" }>),
        config: { type: "string" },
      },
      strict: true,
    });
    return values;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // The parser's message continues with how to pass such a word as an argument, but there are no arguments.
    const [first = why] = why.split(". ");
    const advice = nearOption(first, ["config", ...Object.keys(SERVE_OPTIONS)]);
    throw invalid(`${first}; stackwright serve --options lists all options`, error, advice);
  }
}

async function readConfigFile(path: string, by: string): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch (error) {
    throw invalid(`the configuration file "${path}"${by} cannot be read`, error);
  }
  throw invalid(`the configuration file "${path}"${by} is not a JSON object`);
}

type Kind = (typeof SERVE_OPTIONS)[string]["kind"];

/** @param name of the option or the variable, for what is said of an invalid value */
function read(name: string, kind: Kind, value: NonNullable<Value>): unknown {
  if (kind === "words") return String(value).split(" ").filter(Boolean);
  if (kind !== "number") return value;
  const text = String(value).trim();
  const number = Number(text);
  if (text === "" || !Number.isFinite(number)) throw invalid(`${name} takes a number`);
  return number;
}

function readVariable(variable: string, kind: Kind, text: string): unknown {
  if (kind === "boolean") return booleanOf(variable, text);
  return read(variable, kind, kind === "list" ? listOf(text) : text);
}

function assign(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = "", ...rest] = path;
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const inner = { ...(target[first] as Record<string, unknown> | undefined) };
  assign(inner, rest, value);
  target[first] = inner;
}

function invalid(message: string, cause?: unknown, advice?: string): EngineError {
  const details = { ...(advice !== undefined && { advice }) };
  return new EngineError("ENGINE_CONFIG_INVALID", message, { cause, details });
}
