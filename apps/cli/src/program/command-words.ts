import type { Command } from "commander";
import { CommandError } from "../command-error.ts";
import { SplitError, splitArguments } from "./split-arguments.ts";

/** The command that words name. */
interface NamedCommand {
  /** The command with those it belongs to, the outermost first. */
  readonly path: readonly Command[];
  /** Where the words after the command begin. */
  readonly end: number;
  /** The word in the place of a command that does not exist. */
  readonly unknown?: string;
}

/** Finds the command in the words behind the name of the program; undefined where there is none. */
export function namedCommand(words: readonly string[], program: Command): NamedCommand | undefined {
  const path: Command[] = [];
  let parent = program;
  let end = 0;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--") break;
    if (word.startsWith("-")) {
      // The only one before a command that takes a value.
      if (/^--?chdir$/.test(word)) at++;
      // Options of a command end the search for one that belongs to it.
      else if (path.length > 0) break;
      continue;
    }
    const next = parent.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) {
      if (path.length === 0) return { path, end: at, unknown: word };
      const takesWords = parent.registeredArguments.length > 0 || parent.commands.length === 0;
      return takesWords ? { path, end } : { path, end, unknown: word };
    }
    path.push(next);
    parent = next;
    end = at + 1;
  }
  return path.length === 0 ? undefined : { path, end };
}

/**
 * The words with the arguments of `TF_CLI_ARGS` and `TF_CLI_ARGS_<command>` behind the command, the specific ones first, so
 * that what was typed wins. `CommandError` for a variable that cannot be split.
 */
export function withEnvironmentArguments(
  words: readonly string[],
  program: Command,
  env: NodeJS.ProcessEnv,
): readonly string[] {
  const named = namedCommand(words, program);
  if (named === undefined || named.unknown !== undefined) return words;
  const { path, end } = named;
  const names = path.slice(0, -1).map((one) => one.name());
  const last = path.at(-1);
  const variables = [last?.name() ?? "", ...(last?.aliases() ?? [])].map(
    (name) => `TF_CLI_ARGS_${[...names, name].join("_").replaceAll("-", "_")}`,
  );
  const added = [...variables, "TF_CLI_ARGS"].flatMap((variable) => {
    const text = env[variable];
    if (text === undefined || text === "") return [];
    try {
      return splitArguments(text);
    } catch (error) {
      if (!(error instanceof SplitError)) throw error;
      throw new CommandError(`${variable} cannot be split into arguments: ${error.message}.`, {
        cause: error,
        advice: "Write it as in a shell, with quotes around what belongs together.",
      });
    }
  });
  return added.length === 0 ? words : [...words.slice(0, end), ...added, ...words.slice(end)];
}

const VERSION = /^(?:-v|--?version)$/;
const HELP = /^(?:-h|--?help)$/;

/**
 * The words with what can be written before a command as a command: `-version` is `version`. A command that does not exist
 * has no help, so it loses its request for help and is refused.
 */
export function withoutShortcuts(words: readonly string[], program: Command): readonly string[] {
  const named = namedCommand(words, program);
  if (named === undefined && words.some((word) => VERSION.test(word))) {
    return ["version", ...words.filter((word) => !VERSION.test(word))];
  }
  if (named?.unknown === undefined || named.unknown === "help") return words;
  return words.filter((word) => !HELP.test(word));
}
