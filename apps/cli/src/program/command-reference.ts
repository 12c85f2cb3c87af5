import type { Command } from "commander";

/** A page of all commands with their arguments and options, by name, as their `--help` has them. */
export function commandReference(program: Command): string {
  const parts = [
    "# All commands and options",
    `What \`${program.name()} COMMAND --help\` shows, of every command. [The command](command.md) says by task what they do and how they go together. This page is written from
the definitions of the commands: \`pnpm --filter stackwright generate\`.`,
    "These options stand before the name of a command:",
    optionsOf(program),
  ];
  for (const command of visibleCommands(program)) parts.push(...sectionsOf(command, [], 2));
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function sectionsOf(
  command: Command,
  parents: readonly string[],
  depth: number,
): readonly string[] {
  const help = command.createHelp();
  const words = [...parents, command.name()];
  const parameters = help
    .visibleArguments(command)
    .filter(({ description }) => description !== "")
    .map(
      (argument) =>
        `- \`${help.argumentTerm(argument)}\`: ${textOf(help.argumentDescription(argument))}`,
    );
  return [
    `${"#".repeat(depth)} ${words.join(" ")}`,
    `\`${help.commandUsage(command)}\``,
    sentence(textOf(command.description())),
    parameters.join("\n"),
    optionsOf(command),
    blockOf(textAfter(command)),
    ...visibleCommands(command).flatMap((child) => sectionsOf(child, words, depth + 1)),
  ];
}

function optionsOf(command: Command): string {
  const help = command.createHelp();
  return help
    .visibleOptions(command)
    .filter(({ long }) => long !== "--help")
    .map((option) => `- \`${help.optionTerm(option)}\`: ${textOf(help.optionDescription(option))}`)
    .join("\n");
}

/** What stands below the options in the help of a command. */
function textAfter(command: Command): string {
  let shown = "";
  command.configureOutput({
    writeOut: (text) => {
      shown += text;
    },
  });
  command.outputHelp();
  return shown.slice(command.helpInformation().length);
}

function blockOf(text: string): string {
  const lines = text.replace(/^\n+|\s+$/g, "");
  return lines === "" ? "" : `\`\`\`text\n${lines}\n\`\`\``;
}

function visibleCommands(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== "help")
    .toSorted((a, b) => (a.name() < b.name() ? -1 : 1));
}

function sentence(text: string): string {
  return text === ""
    ? ""
    : `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.:]$/.test(text) ? "" : "."}`;
}

/** A description without what Markdown takes for a sign. */
function textOf(description: string): string {
  return description.replaceAll("\n", " ").replace(/[\\`*<[\]]|\b_\B|\B_\b/g, "\\$&");
}
