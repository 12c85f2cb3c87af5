import type { User } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import type { ExitCode } from "../exit-code.ts";
import { type AccountOptions, accountCall } from "./account-call.ts";

interface NewUserOptions extends AccountOptions {
  readonly service: boolean;
  readonly displayName?: string;
  readonly email?: string;
}

/** Lists the users and service accounts of the account. */
export async function usersList(
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.listUsers({}, { signal })).data.users,
    (users) => (users.length === 0 ? ["The account has no users."] : users.map(lineOf)),
  );
}

export async function usersCreate(
  name: string,
  { service, displayName, email, ...options }: NewUserOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const body = {
    name,
    service,
    ...(displayName !== undefined && { display_name: displayName }),
    ...(email !== undefined && { email }),
  };
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.createUser({ body }, { signal })).data,
    (user) => [`Created ${lineOf(user)}`],
  );
}

/** Refuses all credentials of a user, or takes them again. */
export async function usersDisable(
  name: string,
  disabled: boolean,
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) =>
      (await client.changeUser({ user: name, body: { disabled } }, { signal })).data,
    (user) => [`Changed ${lineOf(user)}`],
  );
}

function lineOf(user: User): string {
  const parts = [
    user.service ? "service account" : "user",
    ...(user.disabled ? ["disabled"] : []),
    ...(user.display_name === "" ? [] : [user.display_name]),
    ...(user.email === "" ? [] : [user.email]),
    ...(user.issuer === undefined ? [] : [`from ${user.issuer}`]),
  ];
  return `${user.name}: ${parts.join(", ")}`;
}
