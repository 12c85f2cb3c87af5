import type { Token } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import type { ExitCode } from "../exit-code.ts";
import { type AccountOptions, accountCall } from "./account-call.ts";

interface NewTokenOptions extends AccountOptions {
  readonly role: string;
  readonly user?: string;
  readonly project: readonly string[];
  readonly stack: readonly string[];
  readonly description?: string;
  readonly days?: string;
}

const ROLES = ["viewer", "planner", "operator", "publisher", "admin"] as const;

/** Lists the tokens of the caller, or of the account for its admins. */
export async function tokensList(
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.listTokens({}, { signal })).data.tokens,
    (tokens) => (tokens.length === 0 ? ["There are no tokens."] : tokens.map(lineOf)),
  );
}

/** Makes a token; it is written alone, so that a script can keep it. */
export async function tokensCreate(
  { role: text, user, project, stack, description, days, ...options }: NewTokenOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const role = ROLES.find((one) => one === text);
  if (role === undefined) {
    throw new CommandError(`"${text}" is not a valid role.`, {
      advice: `Roles are ${ROLES.join(", ")}.`,
    });
  }
  const body = {
    role,
    projects: [...project],
    stacks: [...stack],
    ...(user !== undefined && { user }),
    ...(description !== undefined && { description }),
    ...(days !== undefined && { expires_in_days: Number(days) }),
  };
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.createToken({ body }, { signal })).data,
    ({ token }) => [token],
  );
}

export async function tokensRevoke(
  token: string,
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.revokeToken({ token }, { signal })).data,
    () => [`Revoked ${token}.`],
  );
}

function lineOf(token: Token): string {
  const parts = [
    token.user ?? "no user",
    token.roles.join(" "),
    ...(token.projects.length === 0 ? [] : [`projects ${token.projects.join(" ")}`]),
    ...(token.stacks.length === 0 ? [] : [`stacks ${token.stacks.join(" ")}`]),
    token.expires_at === undefined ? "never expires" : `expires ${token.expires_at}`,
    token.used_at === undefined ? "never used" : `used ${token.used_at}`,
    ...(token.description === "" ? [] : [token.description]),
  ];
  return `${token.id}: ${parts.join(", ")}`;
}
