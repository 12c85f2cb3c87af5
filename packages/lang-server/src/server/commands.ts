import { dirname } from "node:path";
import { pathOf } from "../document/locate.ts";
import { moduleCallers, moduleCalls, moduleProviders } from "../features/module-relations.ts";
import { fileKind, type Workspace } from "../index/workspace.ts";

/** What commands are done with. */
interface CommandWorld {
  readonly workspace: Workspace;
  /** Checks a folder as after a save, providers asked. */
  readonly validate: (folder: string) => void;
}

/** A command that cannot be done; the message says what can. */
export class CommandRefused extends Error {}

type Command = (world: CommandWorld, folder: string) => unknown;

/** By the names that clients of other servers of the language ask for. */
const COMMANDS: Readonly<Record<string, Command>> = {
  "terraform-ls.module.callers": ({ workspace }, folder) => moduleCallers(workspace, folder),
  "terraform-ls.module.calls": ({ workspace }, folder) => moduleCalls(workspace, folder),
  "terraform-ls.module.providers": ({ workspace }, folder) => moduleProviders(workspace, folder),
  "terraform-ls.validate": ({ validate }, folder) => {
    validate(folder);
    return null;
  },
  "terraform-ls.init": (_world, folder) => {
    throw new CommandRefused(
      `The language server brings no modules and providers. Run "stackwright init" in ${folder}.`,
    );
  },
};

/** The commands with the prefix that a client has asked for, by which it tells servers apart. */
export function commandNames(prefix: string): string[] {
  return Object.keys(COMMANDS).map((name) => (prefix === "" ? name : `${prefix}.${name}`));
}

/**
 * Does a command for the folder, or the file in it, that its arguments name as `uri=…`. Throws {@link CommandRefused} for commands that
 * there are not, and without a folder.
 */
export function runCommand(
  world: CommandWorld,
  prefix: string,
  name: string,
  args: readonly unknown[],
): unknown {
  const own = prefix !== "" && name.startsWith(`${prefix}.`) ? name.slice(prefix.length + 1) : name;
  const command = Object.hasOwn(COMMANDS, own) ? COMMANDS[own] : undefined;
  if (command === undefined) throw new CommandRefused(`There is no command ${name}.`);
  const given = args.find((arg) => typeof arg === "string" && arg.startsWith("uri="));
  const path = typeof given === "string" ? pathOf(given.slice("uri=".length)) : undefined;
  if (path === undefined) throw new CommandRefused(`${name} needs an argument uri=FOLDER.`);
  return command(world, fileKind(path) === undefined ? path : dirname(path));
}
