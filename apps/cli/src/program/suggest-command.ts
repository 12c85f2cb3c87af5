import type { Command } from "commander";

/** More commands of one name than these are no help. */
const MOST = 4;
const UNKNOWN = /^error: unknown command '([a-z][a-z-]*)'/;

/**
 * The message about a command that a group does not have, with the commands of that name in other groups in place of those whose names are near;
 * any other message, and that about a name which no or many groups have, as it is.
 *
 * @param message as commander writes it
 * @param program the program with all of its commands
 */
export function suggestCommand(message: string, program: Command): string {
  const [unknown, name] = UNKNOWN.exec(message) ?? [];
  if (unknown === undefined || name === undefined) return message;
  const found = commandsOf(program).filter((words) => words.at(-1) === name);
  if (found.length === 0 || found.length > MOST) return message;
  const named = found.map((words) => words.join(" "));
  const which = named.length === 1 ? named.join("") : `one of ${named.join(", ")}`;
  return `${unknown}\n(Did you mean ${which}?)\n`;
}

/** The words of all commands that are in the help, the name of the program first. */
function commandsOf(command: Command): readonly (readonly string[])[] {
  const below = command.createHelp().visibleCommands(command).flatMap(commandsOf);
  return [[], ...below].map((words) => [command.name(), ...words]);
}
