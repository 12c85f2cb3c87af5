import type { ServerClient, Team } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import type { ExitCode } from "../exit-code.ts";
import { type AccountOptions, accountCall } from "./account-call.ts";

interface TeamOptions extends AccountOptions {
  readonly group: readonly string[];
  readonly provider?: string;
  readonly description?: string;
}

/** Lists the teams of the account. */
export async function teamsList(
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.listTeams({}, { signal })).data.teams,
    (teams) => (teams.length === 0 ? ["The account has no teams."] : teams.map(lineOf)),
  );
}

export async function teamsCreate(
  name: string,
  { group: groups, provider, description, ...options }: TeamOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const body = {
    name,
    groups: [...groups],
    ...(provider !== undefined && { provider }),
    ...(description !== undefined && { description }),
  };
  return changeTeam("Created", options, context, async (client, signal) =>
    client.createTeam({ body }, { signal }),
  );
}

export async function teamsDelete(
  team: string,
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.deleteTeam({ team }, { signal })).data,
    () => [`Deleted the team ${team}.`],
  );
}

/** Adds a user to a team, or removes it. */
export async function teamsMember(
  team: string,
  user: string,
  isAdded: boolean,
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return changeTeam("Changed", options, context, async (client, signal) =>
    isAdded
      ? client.addTeamMember({ team, user }, { signal })
      : client.removeTeamMember({ team, user }, { signal }),
  );
}

async function changeTeam(
  what: string,
  options: AccountOptions,
  context: CommandContext,
  call: (client: ServerClient, signal: AbortSignal) => Promise<{ readonly data: Team }>,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) => (await call(client, signal)).data,
    (team) => [`${what} ${lineOf(team)}`],
  );
}

function lineOf({ name, members, groups, description }: Team): string {
  const parts = [
    members.length === 0 ? "no listed members" : members.join(" "),
    ...(groups.length === 0 ? [] : [`groups ${groups.join(" ")}`]),
    ...(description === "" ? [] : [description]),
  ];
  return `${name}: ${parts.join(", ")}`;
}
