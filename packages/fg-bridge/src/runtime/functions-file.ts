import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import { type JsonMembers, jsonProblemText } from "../envelope/json-problem.ts";
import { FgBridgeError } from "../errors.ts";
import { type FunctionCode, type RuntimeFunction, resolveFunction } from "./function-definition.ts";
import type { FunctionsAccount } from "./functions-server.ts";

/** What a file says for `serveFunctions`. */
export interface FunctionsFile {
  readonly functions: readonly RuntimeFunction[];
  readonly accounts: readonly FunctionsAccount[];
}

const NUMBERS = [
  "timeoutMs",
  "concurrency",
  "maxInstances",
  "idleMs",
  "coldStartMs",
  "initTimeoutMs",
] as const;
const KNOWN = new Set<string>(["urn", "directory", "command", "cwd", "kind", "env", ...NUMBERS]);

/**
 * Reads a file of functions: JSON with `functions`, each with `urn` and either `directory` or `command`, and the settings of
 * a {@link RuntimeFunction}; and `accounts`. Paths are relative to the file. Members that are not known are refused,
 * since a setting with a typing error would silently not apply.
 *
 * @throws FgBridgeError `FG_OPTIONS_INVALID`, `FG_URN_INVALID`
 */
export async function readFunctionsFile(path: string): Promise<FunctionsFile> {
  const read = readJsonObject(await readFile(path));
  if (read.problem !== undefined) throw invalid(path, jsonProblemText(read.problem));
  const { functions, accounts = [], ...rest } = read.object;
  refuseUnknown(path, rest);
  if (!Array.isArray(functions)) throw invalid(path, "functions must be a list");
  return {
    functions: functions.map((value, i) => functionOf(path, value, `functions[${i}]`)),
    accounts: accountsOf(path, accounts),
  };
}

/**
 * Reads a file with `accounts` alone, so that the keys can be stored apart from the functions.
 *
 * @throws FgBridgeError `FG_OPTIONS_INVALID`
 */
export async function readAccountsFile(path: string): Promise<readonly FunctionsAccount[]> {
  const read = readJsonObject(await readFile(path));
  if (read.problem !== undefined) throw invalid(path, jsonProblemText(read.problem));
  const { accounts, ...rest } = read.object;
  refuseUnknown(path, rest);
  return accountsOf(path, accounts);
}

function refuseUnknown(path: string, rest: JsonMembers): void {
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw invalid(path, `it has an unknown member "${unknown}"`);
}

function accountsOf(path: string, accounts: unknown): readonly FunctionsAccount[] {
  if (!Array.isArray(accounts)) throw invalid(path, "accounts must be a list");
  return accounts.map((value, i) => accountOf(path, value, `accounts[${i}]`));
}

function invalid(path: string, problem: string): FgBridgeError {
  return new FgBridgeError("FG_OPTIONS_INVALID", `${path}: ${problem}`);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function functionOf(path: string, value: unknown, at: string): RuntimeFunction {
  if (!isJsonObject(value)) throw invalid(path, `${at} must be an object`);
  const unknown = Object.keys(value).find((name) => !KNOWN.has(name));
  if (unknown !== undefined) throw invalid(path, `${at} has an unknown member "${unknown}"`);
  const { urn, kind = "http", env = {} } = value;
  if (typeof urn !== "string") throw invalid(path, `${at}.urn must be a text`);
  if (kind !== "http" && kind !== "event") throw invalid(path, `${at}.kind is "http" or "event"`);
  if (!isJsonObject(env) || !isTexts(Object.values(env))) {
    throw invalid(path, `${at}.env must be an object of texts`);
  }
  const settings: Record<string, number> = {};
  for (const name of NUMBERS) {
    const number = value[name];
    if (number === undefined) continue;
    if (typeof number !== "number") throw invalid(path, `${at}.${name} must be a number`);
    settings[name] = number;
  }
  const definition: RuntimeFunction = {
    urn,
    kind,
    env: env as Readonly<Record<string, string>>,
    code: codeOf(path, value, at),
    ...settings,
  };
  resolveFunction(definition);
  return definition;
}

function codeOf(path: string, value: JsonMembers, at: string): FunctionCode {
  const { directory, command, cwd = "." } = value;
  const base = dirname(resolve(path));
  if (typeof directory === "string" && command === undefined) {
    return { directory: resolve(base, directory) };
  }
  if (isTexts(command) && directory === undefined && typeof cwd === "string") {
    const [program, ...args] = command;
    if (program !== undefined) return { command: [program, ...args], cwd: resolve(base, cwd) };
  }
  throw invalid(path, `${at} needs either directory or command`);
}

function accountOf(path: string, value: unknown, at: string): FunctionsAccount {
  const { accessKey, secretKey, projects } = isJsonObject(value) ? value : {};
  if (typeof accessKey !== "string" || typeof secretKey !== "string" || !isTexts(projects)) {
    throw invalid(path, `${at} needs accessKey, secretKey and projects`);
  }
  return { accessKey, secretKey, projects };
}
