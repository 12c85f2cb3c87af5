import { Command, Option } from "commander";
import {
  type CommandContext,
  type CommandProcess,
  type CommonOptions,
  createContext,
} from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { commandLog } from "../session/provider-logs.ts";
import { applyReferenceOptions } from "./apply-reference-options.ts";
import { suggestCommand } from "./suggest-command.ts";

/** Makes a command with the options that all have. One that is `hidden` works, and is in no help: it has another name that is. */
export type Define = (
  name: string,
  description: string,
  parent?: Command,
  options?: { readonly hidden?: boolean },
) => Command;

/** Runs what a command does, with the context of its options. */
export type CommandAction = (
  command: Command,
  action: (context: CommandContext) => number | Promise<number>,
) => Promise<void>;

/** What a command answers: how the process ends. */
type Report = (code: number) => void;

/** What the definition of commands has at hand. */
export interface Definition {
  readonly program: Command;
  readonly define: Define;
  readonly run: CommandAction;
  readonly process: CommandProcess;
}

/** Defines a group of commands. */
export type DefineCommands = (definition: Definition) => void;

/**
 * The commands of the given groups with their options. Nothing is loaded that the chosen command does not need: what does
 * the work is imported inside of the actions.
 */
export function createProgram(
  process: CommandProcess,
  report: Report,
  definitions: readonly DefineCommands[],
): Command {
  const { calledAs = "stackwright" } = process;
  const program = new Command(calledAs)
    .description(
      "Plans, applies and keeps infrastructure that is described in the Terraform language.",
    )
    .option("--chdir <folder>", "work in this folder")
    .option("--no-color", "plain text without colours")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "what a command does and takes")
    .showHelpAfterError(`Run "${calledAs} --help" for the list of commands.`)
    .configureHelp({ optionDescription })
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => process.streams.output.write(text),
      writeErr: (text) => process.streams.error.write(text),
      outputError: (text, write) => {
        write(suggestCommand(text, program));
      },
    })
    .exitOverride();

  const define: Define = (name, description, parent = program, { hidden = false } = {}) =>
    parent
      .command(name, { hidden })
      .description(description)
      .showHelpAfterError(
        `Run "${[...wordsOf(parent), name.split(" ")[0]].join(" ")} --help" for what it takes.`,
      )
      .addOption(new Option("--chdir <folder>", "work in this folder").hideHelp())
      .addOption(new Option("--no-color", "plain text without colours").hideHelp())
      .exitOverride();

  /** The options of the command, with those that were given before its name. */
  const run: CommandAction = async (command, action) => {
    const context = createContext(process, commonOptions(command));
    const log = commandLog(context);
    const name = nameOf(command);
    log(`${name} started`);
    const code = await action(context);
    log(`${name} ended with exit code ${code}`);
    report(code);
  };

  for (const defineCommands of definitions) defineCommands({ program, define, run, process });
  applyReferenceOptions(program, process.streams);
  return program;
}

/** What an option does, with the value that it has where it is not given, if that says anything. */
function optionDescription({ description, defaultValue, argChoices }: Option): string {
  const notes: string[] = [];
  if (argChoices !== undefined) notes.push(`choices: ${argChoices.map(quoted).join(", ")}`);
  if (["string", "number"].includes(typeof defaultValue) && defaultValue !== "") {
    notes.push(`default: ${String(defaultValue)}`);
  }
  return notes.length === 0 ? description : `${description} (${notes.join("; ")})`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** The words of a command behind the name of the program. */
function nameOf(command: Command): string {
  return wordsOf(command).slice(1).join(" ");
}

/** The words of a command, the name of the program first. */
function wordsOf(command: Command): readonly string[] {
  const words: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) words.unshift(at.name());
  return words;
}

/**
 * Options that may stand before and after the name of the command; the later one wins. The folder is for all of a
 * command, and stands before it.
 */
function commonOptions(command: Command): CommonOptions {
  const chain: Command[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) chain.unshift(at);
  const merged: { chdir?: string; color?: boolean } = {};
  for (const [depth, { chdir, color }] of chain.map((one) => one.opts<CommonOptions>()).entries()) {
    if (chdir !== undefined && depth > 0) {
      throw new CommandError("The option --chdir stands before the command, not behind it.", {
        advice: `Write: ${chain[0]?.name()} --chdir ${chdir} ${nameOf(command)} ...`,
      });
    }
    if (chdir !== undefined) merged.chdir = chdir;
    if (color === false) merged.color = false;
  }
  return merged;
}
