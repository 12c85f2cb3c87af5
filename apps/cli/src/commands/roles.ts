import type { Role } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import type { ExitCode } from "../exit-code.ts";
import { type AccountOptions, accountCall } from "./account-call.ts";

interface RoleOptions extends AccountOptions {
  /** Undefined: of the whole account. */
  readonly project?: string;
  readonly user?: string;
  readonly team?: string;
}

const ROLES = ["viewer", "planner", "operator", "publisher", "admin"] as const;

/** Lists the roles of the account, or of one project. */
export async function rolesList(
  { project, ...options }: RoleOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) =>
      project === undefined
        ? (await client.listRoles({}, { signal })).data.roles
        : (await client.listProjectRoles({ project }, { signal })).data.roles,
    (roles) => (roles.length === 0 ? ["No roles are given."] : roles.map(lineOf)),
  );
}

/** Gives a user or a team a role, in place of the one that it has there. */
export async function rolesGive(
  text: string,
  { project, ...options }: RoleOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const role = ROLES.find((one) => one === text);
  if (role === undefined) {
    throw new CommandError(`"${text}" is not a valid role.`, {
      advice: `Roles are ${ROLES.join(", ")}.`,
    });
  }
  const at = { ...subjectOf(options), body: { role } };
  return accountCall(
    options,
    context,
    async (client, signal) =>
      project === undefined
        ? (await client.giveRole(at, { signal })).data
        : (await client.giveProjectRole({ ...at, project }, { signal })).data,
    (given) => [`Gave ${lineOf(given)}`],
  );
}

export async function rolesTake(
  { project, ...options }: RoleOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const at = subjectOf(options);
  return accountCall(
    options,
    context,
    async (client, signal) => {
      if (project === undefined) await client.takeRole(at, { signal });
      else await client.takeProjectRole({ ...at, project }, { signal });
    },
    () => [`Took the role of the ${at.kind} ${at.subject} away.`],
  );
}

function subjectOf({ user, team }: RoleOptions): {
  readonly kind: "user" | "team";
  readonly subject: string;
} {
  if (user !== undefined && team === undefined) return { kind: "user", subject: user };
  if (team !== undefined && user === undefined) return { kind: "team", subject: team };
  throw new CommandError("Name one user with --user, or one team with --team.");
}

function lineOf({ kind, subject, project, role }: Role): string {
  return `${kind} ${subject}: ${role} ${project === undefined ? "of the account" : `in ${project}`}`;
}
