import type { Account, AccountSettings, ServerClient } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import type { ExitCode } from "../exit-code.ts";
import { type AccountOptions, accountCall } from "./account-call.ts";
import { changeSeen } from "./change-seen.ts";
import { daysOf } from "./tokens.ts";

/** What an account is called; what is undefined stays as it is. */
interface SettingsOptions extends AccountOptions {
  readonly displayName?: string;
  readonly description?: string;
}

interface AccountTokenOptions extends AccountOptions {
  readonly description?: string;
  readonly days?: string;
}

/** What a server accepts as the name of a new account. */
const NEW_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Lists the accounts of a server. */
export async function accountsList(
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(options, context, listAll, (accounts) => accounts.map(lineOf));
}

/** Shows an account with what is in it. */
export async function accountsShow(
  account: string,
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.showAccount({ account }, { signal })).data,
    (shown) => [
      lineOf(shown),
      ...(shown.contents.length === 0
        ? ["  nothing is in it"]
        : shown.contents.map(({ what, count }) => `  ${what}: ${count}`)),
    ],
  );
}

/** Creates an account, which has no credential then. */
export async function accountsCreate(
  name: string,
  options: SettingsOptions,
  context: CommandContext,
): Promise<ExitCode> {
  if (!NEW_NAME.test(name)) {
    throw new CommandError(`An account cannot be called "${name}".`, {
      advice: 'Name it with up to 63 lower case letters, digits and "-", which is not the first.',
    });
  }
  const body = { name, ...settingsOf(options) };
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.createAccount({ body }, { signal })).data,
    (account) => [
      `Created ${lineOf(account)}`,
      `stackwright accounts token ${name} makes the token of its first administrator.`,
    ],
  );
}

/** Changes what an account is called. */
export async function accountsSet(
  account: string,
  options: SettingsOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const body = settingsOf(options);
  if (Object.keys(body).length === 0) {
    throw new CommandError("There is nothing to change.", {
      advice: "Name --display-name or --description.",
    });
  }
  return accountCall(
    options,
    context,
    async (client, signal) =>
      changeSeen(
        async () => client.showAccount({ account }, { signal }),
        async (ifMatch) => client.changeAccount({ account, ifMatch, body }, { signal }),
      ),
    (changed) => [`Changed ${lineOf(changed)}`],
  );
}

/** Deletes an account in which nothing is left. */
export async function accountsDelete(
  account: string,
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) =>
      (await client.deleteAccount({ account, ifMatch: "*" }, { signal })).data,
    () => [`Deleted the account ${account} with its users and credentials.`],
  );
}

/** Makes the token of an administrator; it is written alone, so that a script can keep it. */
export async function accountsToken(
  account: string,
  { description, days, ...options }: AccountTokenOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const body = {
    ...(description !== undefined && { description }),
    ...(days !== undefined && { expires_in_days: daysOf(days) }),
  };
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.createAccountToken({ account, body }, { signal })).data,
    ({ token }) => [token],
  );
}

async function listAll(client: ServerClient, signal: AbortSignal): Promise<readonly Account[]> {
  const found: Account[] = [];
  let after: string | undefined;
  do {
    const query = { limit: 200, ...(after !== undefined && { after }) };
    const { accounts, next } = (await client.listAccounts(query, { signal })).data;
    found.push(...accounts);
    after = next;
  } while (after !== undefined);
  return found;
}

function settingsOf({ displayName, description }: SettingsOptions): AccountSettings {
  return {
    ...(displayName !== undefined && { display_name: displayName }),
    ...(description !== undefined && { description }),
  };
}

function lineOf({ name, display_name: title, description, deleting }: Account): string {
  return [
    title === "" ? name : `${name} (${title})`,
    ...(description === "" ? [] : [description]),
    ...(deleting ? ["a deletion of it was begun"] : []),
  ].join(", ");
}
