import type { Token } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { callRegistry, registryError } from "../provider-kit/registry-calls.ts";
import { serverAccess } from "../runs/open-server.ts";
import { type AccountOptions, accountCall } from "./account-call.ts";

interface NewTokenOptions extends AccountOptions {
  readonly role: string;
  readonly user?: string;
  readonly project: readonly string[];
  readonly stack: readonly string[];
  readonly pool?: string;
  readonly description?: string;
  readonly days?: string;
}

const ROLES = ["viewer", "planner", "operator", "publisher", "admin"] as const;
/** The role of a machine: no user has it, so the server makes such a token elsewhere. */
const WORKER = "worker";

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
  given: NewTokenOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { role: text, user, project, stack, pool, description, days, ...options } = given;
  if (text === WORKER) return workerTokenCreate(given, context);
  const role = ROLES.find((one) => one === text);
  if (role === undefined) {
    throw new CommandError(`"${text}" is not a valid role.`, {
      advice: `Roles are ${[...ROLES, WORKER].join(", ")}.`,
    });
  }
  if (pool !== undefined) {
    throw new CommandError(`A token of the role ${role} has no pool.`, {
      advice: "Leave --pool out; it is for tokens of the role worker.",
    });
  }
  const body = {
    role,
    projects: [...project],
    stacks: [...stack],
    ...(user !== undefined && { user }),
    ...(description !== undefined && { description }),
    ...(days !== undefined && { expires_in_days: daysOf(days) }),
  };
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.createToken({ body }, { signal })).data,
    ({ token }) => [token],
  );
}

/** Makes the token of a worker, which belongs to the account and not to a user. */
async function workerTokenCreate(
  { user, project, stack, pool, description, days, server, json }: NewTokenOptions,
  context: CommandContext,
): Promise<ExitCode> {
  if (user !== undefined || stack.length > 0) {
    throw new CommandError(
      "A token of the role worker is not of a user, and not for single stacks.",
      {
        advice: "Leave --user and --stack out; --project and --pool say which runs it executes.",
      },
    );
  }
  const access = await serverAccess(context, server);
  const body = {
    roles: [WORKER],
    ...(project.length > 0 && { projects: [...project] }),
    ...(pool !== undefined && { pool }),
    ...(description !== undefined && { description }),
    ...(days !== undefined && { expires_in_days: daysOf(days) }),
  };
  const request = { method: "POST", path: "/api/v1/registry/tokens", json: body } as const;
  const answer = await callRegistry(access, request, context.signal);
  const { token } = answer.body;
  if (answer.status !== 201 || typeof token !== "string") {
    throw registryError("The token was not made", answer, access, {
      403: "A token of a worker is made with the first token of the server, or by an admin of the account.",
    });
  }
  context.terminal.write(json ? `${JSON.stringify(answer.body, undefined, 2)}\n` : `${token}\n`);
  return EXIT.ok;
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

export function daysOf(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new CommandError(`"${text}" is not a valid number of days.`, {
    advice: "Give --days a whole number from 1 on, or leave it out.",
  });
}
