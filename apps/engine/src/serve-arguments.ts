import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { EngineError } from "@stackwright/core/errors";
import { nearOption } from "./near-option.ts";
import { SERVE_OPTIONS } from "./serve-flags.ts";
import type { ServerOptions } from "./server-options.ts";

/** The options of a server, one a line. */
export function serveOptionLines(): string {
  const rows = [
    ["config", "file with options, as JSON"],
    ...Object.entries(SERVE_OPTIONS).map(([name, { help }]) => [name, help]),
  ];
  return rows.map(([name = "", help]) => `  --${name.padEnd(24)} ${help}\n`).join("");
}

/**
 * Options of a server from the arguments of a command: `--config FILE` (JSON) first, `STACKWRIGHT_STORE`
 * and `STACKWRIGHT_FUNCTIONS` where neither names a store or a table of functions, and single options over both. They are checked by {@link serve}.
 *
 * `ENGINE_CONFIG_INVALID` for options that do not exist and files that cannot be read.
 */
export async function parseServeArguments(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<ServerOptions> {
  const values = readFlags(args);
  const { config } = values;
  const options: Record<string, unknown> =
    typeof config === "string"
      ? withKeyFiles(await readConfigFile(resolve(directory, config)), resolve(directory, config))
      : {};
  for (const [name, { path, kind }] of Object.entries(SERVE_OPTIONS)) {
    const value = values[name];
    if (value !== undefined) assign(options, path, read(name, kind, value));
  }
  const store = options["store"] ?? env["STACKWRIGHT_STORE"];
  const functionsFile = options["functionsFile"] ?? (env["STACKWRIGHT_FUNCTIONS"] || undefined);
  return {
    ...options,
    ...(store === undefined ? {} : { store }),
    ...(functionsFile === undefined ? {} : { functionsFile }),
  } as ServerOptions;
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

async function readConfigFile(path: string): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch (error) {
    throw invalid(`the configuration file "${path}" cannot be read`, error);
  }
  throw invalid(`the configuration file "${path}" is not a JSON object`);
}

function read(
  name: string,
  kind: (typeof SERVE_OPTIONS)[string]["kind"],
  value: NonNullable<Value>,
): unknown {
  if (kind === "words") return String(value).split(" ").filter(Boolean);
  if (kind !== "number") return value;
  const number = Number(value);
  if (value === "" || !Number.isFinite(number)) throw invalid(`--${name} takes a number`);
  return number;
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
