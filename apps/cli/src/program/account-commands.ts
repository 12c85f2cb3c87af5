import type { Command } from "commander";
import type { AccountOptions } from "../commands/account-call.ts";
import type { CommandAction, Define } from "./program.ts";
import { withServer } from "./with-server.ts";

type SettingsOptions = AccountOptions & { displayName?: string; description?: string };
type AccountTokenOptions = AccountOptions & { description?: string; days?: string };

/** Commands about the accounts of a server. */
export function defineAccountCommands(define: Define, run: CommandAction): void {
  const accounts = define("accounts", "list and make the accounts of a server");
  withServer(define("list", "list the accounts (role site-admin)", accounts)).action(
    async (options: AccountOptions, command: Command) => {
      const { accountsList } = await import("../commands/accounts.ts");
      await run(command, async (context) => accountsList(options, context));
    },
  );
  withServer(define("show <name>", "show an account with what is in it", accounts)).action(
    async (name: string, options: AccountOptions, command: Command) => {
      const { accountsShow } = await import("../commands/accounts.ts");
      await run(command, async (context) => accountsShow(name, options, context));
    },
  );
  withSettings(
    withServer(define("create <name>", "create an account (role site-admin)", accounts)),
  ).action(async (name: string, options: SettingsOptions, command: Command) => {
    const { accountsCreate } = await import("../commands/accounts.ts");
    await run(command, async (context) => accountsCreate(name, options, context));
  });
  withSettings(
    withServer(define("set <name>", "change what an account is called", accounts)),
  ).action(async (name: string, options: SettingsOptions, command: Command) => {
    const { accountsSet } = await import("../commands/accounts.ts");
    await run(command, async (context) => accountsSet(name, options, context));
  });
  withServer(
    define(
      "token <name>",
      "make the token of an administrator of an account, and write it once (role site-admin)",
      accounts,
    ),
  )
    .option("--description <text>", "what it is for")
    .option("--days <n>", "days until it expires, up to 366; 90 by default")
    .action(async (name: string, options: AccountTokenOptions, command: Command) => {
      const { accountsToken } = await import("../commands/accounts.ts");
      await run(command, async (context) => accountsToken(name, options, context));
    });
  withServer(
    define(
      "delete <name>",
      "delete an account in which nothing is left, with its users and credentials (role site-admin)",
      accounts,
    ),
  ).action(async (name: string, options: AccountOptions, command: Command) => {
    const { accountsDelete } = await import("../commands/accounts.ts");
    await run(command, async (context) => accountsDelete(name, options, context));
  });
}

function withSettings(command: Command): Command {
  return command
    .option("--display-name <text>", "name to show")
    .option("--description <text>", "what the account is for");
}
