import { Command, Option } from "commander";
import {
  type CommandContext,
  type CommandProcess,
  type CommonOptions,
  createContext,
} from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { commandLog } from "../session/provider-logs.ts";
import { defineAccessCommands } from "./access-commands.ts";
import { applyReferenceOptions } from "./apply-reference-options.ts";
import { defineCiCommands } from "./ci-commands.ts";
import { completionScript, type Shell } from "./completion-script.ts";
import { defineDriftCommands } from "./drift-commands.ts";
import { defineEditorCommands } from "./editor-commands.ts";
import { defineFamiliarCommands } from "./familiar-commands.ts";
import { defineHookCommands } from "./hook-commands.ts";
import { defineKeyCommands } from "./key-commands.ts";
import { defineLoginCommands } from "./login-commands.ts";
import { defineModuleCommands } from "./module-commands.ts";
import { defineMuxCommands } from "./mux-commands.ts";
import { defineNotificationCommands } from "./notification-commands.ts";
import { definePolicyCommands } from "./policy-commands.ts";
import { defineProjectCommands } from "./project-commands.ts";
import { defineProviderCommands } from "./provider-commands.ts";
import { defineProviderKitCommands } from "./provider-kit-commands.ts";
import { defineRunCommands } from "./run-commands.ts";
import { defineServerCommands } from "./server-commands.ts";
import { defineServerRunCommands } from "./server-run-commands.ts";
import { defineStateCommands } from "./state-commands.ts";
import { defineStateVersionCommands } from "./state-version-commands.ts";
import { defineStoreCommands } from "./store-commands.ts";
import { defineTestCommand } from "./test-command.ts";
import { defineVariableCommands } from "./variable-commands.ts";
import { defineVcsCommands } from "./vcs-commands.ts";
import { defineWorkspaceCommands } from "./workspace-commands.ts";

/** Makes a command with the options that all have. */
export type Define = (name: string, description: string, parent?: Command) => Command;

/** Runs what a command does, with the context of its options. */
export type CommandAction = (
  command: Command,
  action: (context: CommandContext) => number | Promise<number>,
) => Promise<void>;

/** What a command answers: how the process ends. */
type Report = (code: number) => void;

/**
 * The commands with their options. Nothing is loaded that the chosen command does not need: what does
 * the work is imported inside of the actions.
 */
export function createProgram(process: CommandProcess, report: Report): Command {
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
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => process.streams.output.write(text),
      writeErr: (text) => process.streams.error.write(text),
    })
    .exitOverride();

  const define: Define = (name, description, parent = program) =>
    parent
      .command(name)
      .description(description)
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

  defineProjectCommands(define, run);
  defineRunCommands(define, run);
  defineTestCommand(define, run);
  defineStateCommands(define, run);
  defineKeyCommands(define, run);
  defineStoreCommands(define, run);
  defineModuleCommands(define, run);
  defineProviderCommands(define, run);
  defineProviderKitCommands(define, run);
  defineMuxCommands(define, run);
  defineFamiliarCommands(program, define, run);
  defineWorkspaceCommands(define, run);
  defineServerCommands(define, run, process);
  defineLoginCommands(define, run);
  defineServerRunCommands(define, run);
  defineDriftCommands(define, run);
  defineVariableCommands(define, run);
  definePolicyCommands(define, run);
  defineVcsCommands(define, run);
  defineNotificationCommands(define, run);
  defineHookCommands(define, run);
  defineAccessCommands(define, run);
  defineStateVersionCommands(define, run);
  defineEditorCommands(define, run, process);
  defineCiCommands(define, run);
  defineCompletion(program, define, run);
  applyReferenceOptions(program, process.streams);
  return program;
}

function defineCompletion(program: Command, define: Define, run: CommandAction): void {
  define(
    "completion <shell>",
    "a script that completes commands and options: bash, zsh or fish",
  ).action(async (shell: string, _options: unknown, command: Command) => {
    await run(command, ({ terminal }) => {
      if (shell !== "bash" && shell !== "zsh" && shell !== "fish") {
        command.error(`error: there is no completion for "${shell}"; there is bash, zsh and fish`);
      }
      terminal.write(completionScript(program, shell satisfies Shell));
      return 0;
    });
  });
}

/** The words of a command behind the name of the program. */
function nameOf(command: Command): string {
  const words: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) words.unshift(at.name());
  return words.slice(1).join(" ");
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
