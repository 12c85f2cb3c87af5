import { Command, Option } from "commander";
import {
  type CommandContext,
  type CommandProcess,
  type CommonOptions,
  createContext,
} from "./command-context.ts";
import type { FmtOptions } from "./commands/fmt.ts";
import { completionScript, type Shell } from "./completion-script.ts";

/** What a command answers: how the process ends. */
export type Report = (code: number) => void;

/**
 * The commands with their options. Nothing is loaded that the chosen command does not need: what does
 * the work is imported inside of the actions.
 */
export function createProgram(process: CommandProcess, report: Report): Command {
  const program = new Command("stackwright")
    .description(
      "Plans, applies and keeps infrastructure that is described in the Terraform language.",
    )
    .option("--chdir <folder>", "work in this folder")
    .option("--no-color", "plain text without colours")
    .helpOption("-h, --help", "what there is and how it is used")
    .helpCommand("help [command]", "what a command does and takes")
    .showHelpAfterError("(stackwright --help tells what there is)")
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => process.streams.output.write(text),
      writeErr: (text) => process.streams.error.write(text),
    })
    .exitOverride();

  const define = (name: string, description: string, parent = program): Command =>
    parent
      .command(name)
      .description(description)
      .addOption(new Option("--chdir <folder>", "work in this folder").hideHelp())
      .addOption(new Option("--no-color", "plain text without colours").hideHelp())
      .exitOverride();

  /** The options of the command, with those that were given before its name. */
  const run = async (
    command: Command,
    action: (context: CommandContext) => number | Promise<number>,
  ): Promise<void> => {
    report(await action(createContext(process, commonOptions(command))));
  };

  define("fmt [paths...]", "write files in the canonical style")
    .option("--no-list", "do not list the files that change")
    .option("--no-write", "write nothing")
    .option("--diff", "show what changes", false)
    .option("--check", "write nothing; exit code 3 where something is not in style", false)
    .option("--recursive", "folders below as well", false)
    .action(async (paths: string[], options: FmtOptions, command: Command) => {
      const { fmt } = await import("./commands/fmt.ts");
      await run(command, async (context) => fmt(paths, options, context));
    });

  define("version", "which version this is")
    .option("--json", "as JSON", false)
    .action(async (options: { json: boolean }, command: Command) => {
      const { version } = await import("./commands/version.ts");
      await run(command, (context) => version(options, context));
    });

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

  return program;
}

/** Options that may stand before and after the name of the command; the later one wins. */
function commonOptions(command: Command): CommonOptions {
  const chain: Command[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) chain.unshift(at);
  const merged: { chdir?: string; color?: boolean } = {};
  for (const { chdir, color } of chain.map((one) => one.opts<CommonOptions>())) {
    if (chdir !== undefined) merged.chdir = chdir;
    if (color === false) merged.color = false;
  }
  return merged;
}
