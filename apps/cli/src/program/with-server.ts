import type { Command } from "commander";

/** The options of commands about the account of the caller on a server. */
export function withServer(command: Command): Command {
  return command
    .option("--server <url>", "address of the server (STACKWRIGHT_SERVER, the last login)")
    .option("--json", "JSON instead of text", false);
}
