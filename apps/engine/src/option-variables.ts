import { EngineError } from "@stackwright/core/errors";
import { nearOptionName } from "./near-option.ts";

/** What the variables of the environment begin with that give options of `stackwright serve`. */
export const SERVE_VARIABLES = "STACKWRIGHT_SERVE_";
/** The same for `stackwright worker`. */
export const WORKER_VARIABLES = "STACKWRIGHT_WORKER_";

type Prefix = typeof SERVE_VARIABLES | typeof WORKER_VARIABLES;

/** The variable that gives an option: `--max-providers` of `serve` is `STACKWRIGHT_SERVE_MAX_PROVIDERS`. */
export function variableOf(prefix: Prefix, option: string): string {
  return prefix + option.toUpperCase().replaceAll("-", "_");
}

/** What a variable holds; undefined for an empty one, which is as if it were not set. */
export function variableText(
  prefix: Prefix,
  option: string,
  env: NodeJS.ProcessEnv,
): string | undefined {
  return env[variableOf(prefix, option)] || undefined;
}

/** The rule of the variables for the help of a command, with an option as the example. */
export function variableLines(prefix: Prefix, example: string): string {
  return `Each option is also given by a variable of the environment: --${example} by ${variableOf(prefix, example)}. Options win over variables.
`;
}

/** The values of a text: its lines where it has several, so that a value may have commas, and otherwise what is between commas. */
export function listOf(text: string): string[] {
  return text
    .split(text.includes("\n") ? "\n" : ",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
}

/** The value of a variable that is `true` or `1`, `false` or `0`. `ENGINE_CONFIG_INVALID` for another one. */
export function booleanOf(variable: string, text: string): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new EngineError("ENGINE_CONFIG_INVALID", `${variable} takes true, false, 1 or 0`);
}

/** A variable that gives no option, but whose name is near to that of one which does. */
interface NearVariable {
  readonly variable: string;
  readonly meant: string;
}

/** The variables with a prefix that most likely have a mistake in their names. Others with the prefix may be of other programs. */
export function nearVariables(
  prefix: Prefix,
  options: readonly string[],
  env: NodeJS.ProcessEnv,
): readonly NearVariable[] {
  const names = new Set(options.map((option) => variableOf(prefix, option)));
  return Object.keys(env)
    .filter((variable) => variable.startsWith(prefix) && !names.has(variable))
    .flatMap((variable) => {
      const given = variable.slice(prefix.length).toLowerCase().replaceAll("_", "-");
      const near = options.includes(given) ? given : nearOptionName(given, options);
      return near === undefined ? [] : [{ variable, meant: variableOf(prefix, near) }];
    })
    .toSorted((a, b) => (a.variable < b.variable ? -1 : 1));
}
