import { type Command, Option } from "commander";
import { CommandError } from "../command-error.ts";
import type { TerminalStreams } from "../terminal/terminal.ts";
import { REFERENCE_OPTIONS, REFUSED_COMMANDS, type ReferenceOption } from "./reference-options.ts";

type Declared = Exclude<ReferenceOption, { readonly kind: "same" }>;

/**
 * Declares the options of the reference command that mean nothing here, and commands that are refused by name. A refused
 * option ends the command; an ignored one writes a line to standard error.
 */
export function applyReferenceOptions(
  program: Command,
  streams: Pick<TerminalStreams, "error">,
): void {
  for (const [words, options] of Object.entries(REFERENCE_OPTIONS)) {
    const command = commandAt(program, words);
    if (command === undefined) continue;
    const declared = Object.entries(options).flatMap(([name, treatment]) => {
      if (treatment.kind === "same") return [];
      const option = declare(name, treatment);
      command.addOption(option);
      return [{ name, option, treatment }];
    });
    if (declared.length === 0) continue;
    command.hook("preAction", () => {
      for (const { name, option, treatment } of declared) {
        if (command.getOptionValueSource(option.attributeName()) !== "cli") continue;
        answer(name, treatment, streams);
      }
    });
  }
  for (const [name, reason] of Object.entries(REFUSED_COMMANDS)) {
    if (commandAt(program, name) !== undefined) continue;
    program
      .command(name, { hidden: true })
      .description("a command of the reference command that is not supported")
      .allowUnknownOption()
      .allowExcessArguments()
      .action(() => {
        throw new CommandError(`The command "${name}" is not available. ${reason}`);
      });
  }
}

/** The command of some words; undefined where another program declares it, or none. */
export function commandAt(program: Command, words: string): Command | undefined {
  return words
    .split(" ")
    .reduce<Command | undefined>(
      (at, word) => at?.commands.find((one) => one.name() === word || one.aliases().includes(word)),
      program,
    );
}

function declare(name: string, { form }: Declared): Option {
  const flags =
    form === "value" ? `--${name} <value>` : form === "flag" ? `--${name}` : `--no-${name}`;
  return new Option(flags, "an option of the reference command").hideHelp();
}

function answer(
  name: string,
  treatment: Declared,
  { error }: Pick<TerminalStreams, "error">,
): void {
  const written = treatment.form === "negated" ? `-${name}=false` : `-${name}`;
  switch (treatment.kind) {
    case "refused":
      throw new CommandError(`The option "${written}" is not supported.`, {
        advice: treatment.instead,
      });
    case "ignored":
      error.write(`Note: the option "${written}" has no effect. ${treatment.because}\n`);
      break;
    case "mapped":
      break;
    default:
      treatment satisfies never;
  }
}
