import type { User, UserIdentity } from "@stackwright/client";
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

interface IdentityOptions extends AccountOptions {
  readonly provider: string;
  readonly subject: string;
}

/** Lists what identity providers call a user. */
export async function usersIdentities(
  user: string,
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) =>
      (await client.listUserIdentities({ user }, { signal })).data.identities,
    (all) => (all.length === 0 ? ["The user has no identities."] : all.map(identityLineOf)),
  );
}

/** Who signs in with an identity is this user from then on. */
export async function usersLink(
  user: string,
  { provider, subject, ...options }: IdentityOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const body = { provider, subject };
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.linkUserIdentity({ user, body }, { signal })).data,
    (identity) => [`Linked ${identityLineOf(identity)}`],
  );
}

export async function usersUnlink(
  user: string,
  identity: string,
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) =>
      (await client.unlinkUserIdentity({ user, identity }, { signal })).data,
    () => [`Unlinked ${identity}, and ended the sessions of ${user}.`],
  );
}

function identityLineOf({ id, issuer, subject }: UserIdentity): string {
  return `${id}: ${subject} of ${issuer}`;
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
