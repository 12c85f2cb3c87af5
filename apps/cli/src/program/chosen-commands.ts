import { defineModuleCommands } from "./module-commands.ts";
import type { DefineCommands } from "./program.ts";
import { defineProjectCommands } from "./project-commands.ts";
import { defineRunCommands } from "./run-commands.ts";

const RUN: readonly DefineCommands[] = [({ define, run }) => defineRunCommands(define, run)];
const MODULES: readonly DefineCommands[] = [({ define, run }) => defineModuleCommands(define, run)];
const PROJECT: readonly DefineCommands[] = [
  ({ define, run }) => defineProjectCommands(define, run),
];

/**
 * Commands that are used all the time, by the names that they have at the top. Defining all commands takes a sixth of the
 * time of a small plan.
 */
export const OFTEN_USED: ReadonlyMap<string, readonly DefineCommands[]> = new Map([
  ...["plan", "up", "apply", "destroy", "refresh", "import"].map((name) => [name, RUN] as const),
  ...["init", "get"].map((name) => [name, MODULES] as const),
  ...["version", "validate", "fmt", "console", "graph"].map((name) => [name, PROJECT] as const),
]);

/** The definitions that the words of a command line need: a few where its command is used often, otherwise all. */
export async function definitionsFor(words: readonly string[]): Promise<readonly DefineCommands[]> {
  const often = OFTEN_USED.get(firstWord(words) ?? "");
  if (often !== undefined) return often;
  const { ALL_COMMANDS } = await import("./all-commands.ts");
  return ALL_COMMANDS;
}

/** The name of a command, which options of all commands may precede. */
function firstWord(words: readonly string[]): string | undefined {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (!word.startsWith("-")) return word;
    // The only one that takes a value.
    if (/^--?chdir$/.test(word)) at++;
  }
  return undefined;
}
