import { nearOption } from "@stackwright/engine/options";
import type { Command, CommanderError } from "commander";

/** `Did you mean "-auto-approve"?` for an option that a command does not know; undefined where no option of it is near. */
export function suggestOption(
  { code, message }: Pick<CommanderError, "code" | "message">,
  commands: readonly Command[],
): string | undefined {
  if (code !== "commander.unknownOption" || message.includes("Did you mean")) return undefined;
  const names = commands.flatMap(({ options }) =>
    options.flatMap(({ long }) => long?.replace(/^--/, "") ?? []),
  );
  return nearOption(message, names);
}
