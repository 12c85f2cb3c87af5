import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { EngineError } from "@stackwright/core/errors";
import type { ServerOptions } from "./server-options.ts";

/** An option of the command: where its value goes, and how it is read. */
interface Flag {
  readonly path: readonly string[];
  readonly kind: "text" | "number" | "boolean" | "list" | "words";
  readonly help: string;
}

/** The options of `stackwright serve`, by their names without dashes. */
export const SERVE_OPTIONS: Readonly<Record<string, Flag>> = Object.freeze({
  store: { path: ["store"], kind: "text", help: "address of the store" },
  host: { path: ["host"], kind: "text", help: "address to listen on" },
  port: { path: ["port"], kind: "number", help: "port of HTTP" },
  "storage-port": { path: ["storagePort"], kind: "number", help: "port of the storage service" },
  region: { path: ["region"], kind: "text", help: "the region that this server is" },
  "public-host": { path: ["publicHost"], kind: "text", help: "host under which clients see it" },
  "mirror-host": { path: ["mirrorHosts"], kind: "list", help: "further host of the mirror" },
  "blob-directory": { path: ["blobDirectory"], kind: "text", help: "folder for blobs" },
  "tls-certificate": { path: ["tls", "certificateFile"], kind: "text", help: "chain in PEM" },
  "tls-key": { path: ["tls", "keyFile"], kind: "text", help: "private key in PEM" },
  "without-tls": {
    path: ["withoutTls"],
    kind: "boolean",
    help: "in the clear to other machines, behind a proxy with TLS",
  },
  "key-file": { path: ["keyFile"], kind: "text", help: "file with the key for secrets" },
  "key-variable": { path: ["keyVariable"], kind: "text", help: "variable with that key" },
  "key-command": { path: ["keyCommand"], kind: "words", help: "command that prints that key" },
  "former-key-file": {
    path: ["formerKeyFile"],
    kind: "text",
    help: "file with a key that only decrypts",
  },
  "former-key-variable": {
    path: ["formerKeyVariable"],
    kind: "text",
    help: "variable with such a key",
  },
  "former-key-command": {
    path: ["formerKeyCommand"],
    kind: "words",
    help: "command that prints such a key",
  },
  "bootstrap-file": { path: ["bootstrapFile"], kind: "text", help: "file for first credentials" },
  executor: { path: ["executor"], kind: "text", help: "of runs: child, in-process or none" },
  "run-directory": { path: ["runDirectory"], kind: "text", help: "folder of the executors" },
  "run-capacity": { path: ["runCapacity"], kind: "number", help: "steps at the same time" },
  "run-plan-minutes": {
    path: ["runLimits", "planMinutes"],
    kind: "number",
    help: "how long a plan may take",
  },
  "run-apply-minutes": {
    path: ["runLimits", "applyMinutes"],
    kind: "number",
    help: "how long an apply may take",
  },
  "run-stop-seconds": {
    path: ["runLimits", "stopSeconds"],
    kind: "number",
    help: "from the request to stop to the end",
  },
  "run-memory-mib": {
    path: ["runLimits", "memoryMib"],
    kind: "number",
    help: "memory of the processes of a step",
  },
  functions: { path: ["functionsFile"], kind: "text", help: "table of functions, as JSON" },
  "max-providers": { path: ["quotas", "providers"], kind: "number", help: "per account" },
  "max-versions": { path: ["quotas", "versionsPerProvider"], kind: "number", help: "per provider" },
  "max-archive-bytes": { path: ["quotas", "archiveBytes"], kind: "number", help: "per archive" },
  "max-blob-bytes": {
    path: ["quotas", "blobBytes"],
    kind: "number",
    help: "of all plans, states and archives of an account",
  },
  "plan-days": { path: ["plans", "days"], kind: "number", help: "days that saved plans stay" },
  "plans-per-stack": {
    path: ["plans", "perStack"],
    kind: "number",
    help: "newest saved plans of a stack that stay",
  },
  "runs-per-stack": { path: ["runs", "perStack"], kind: "number", help: "ended runs that stay" },
  "run-days": { path: ["runs", "days"], kind: "number", help: "days that ended runs stay" },
  "run-log-days": { path: ["runs", "logDays"], kind: "number", help: "days that events stay" },
  "delete-provider": { path: ["deleteProvider"], kind: "text", help: "cascade or refuse" },
  "delete-used": { path: ["deleteUsed"], kind: "text", help: "allow, warn or refuse" },
  tombstones: { path: ["tombstones"], kind: "boolean", help: "keep deleted version numbers" },
  "audit-days": { path: ["auditDays"], kind: "number", help: "days that entries are kept" },
  "rate-per-second": { path: ["rateLimit", "perSecond"], kind: "number", help: "per account" },
  "rate-burst": { path: ["rateLimit", "burst"], kind: "number", help: "requests at once" },
  "api-rate-per-second": {
    path: ["apiRateLimit", "perSecond"],
    kind: "number",
    help: "of the API of runs, per credential",
  },
  "api-rate-burst": {
    path: ["apiRateLimit", "burst"],
    kind: "number",
    help: "requests at once",
  },
  "health-check-minutes": {
    path: ["healthCheckMinutes"],
    kind: "number",
    help: "how often functions are checked",
  },
  "trust-proxy": { path: ["trustProxy"], kind: "boolean", help: "believe X-Forwarded-For" },
  "log-level": { path: ["logLevel"], kind: "text", help: "fatal to trace, or silent" },
  "drain-delay": { path: ["drainDelayMs"], kind: "number", help: "milliseconds" },
  "drain-timeout": { path: ["drainTimeoutMs"], kind: "number", help: "milliseconds" },
});

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
    typeof config === "string" ? await readConfigFile(resolve(directory, config)) : {};
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
    throw invalid(`${first}; stackwright serve --options lists all options`, error);
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

function read(name: string, kind: Flag["kind"], value: NonNullable<Value>): unknown {
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

function invalid(message: string, cause?: unknown): EngineError {
  return new EngineError("ENGINE_CONFIG_INVALID", message, { cause });
}
