import { Team } from "@stackwright/proto/stackwright";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { accountTenancy, bindingPlace, memberOfAccount } from "../../access/access-places.ts";
import { takeRole } from "../../access/give-role.ts";
import { requireAdministrator } from "../../access/last-administrator.ts";
import { listBindings, removeBindings } from "../../access/remove-bindings.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../../queue/list-readable.ts";
import { requireRoom } from "../../queue/require-room.ts";
import { transact } from "../../queue/transaction.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { NewTeam, SubjectName, TeamSettings, TeamView, teamViewOf } from "./access-view.ts";

const TeamParams = Type.Object({ team: SubjectName });
const MemberParams = Type.Object({ team: SubjectName, user: SubjectName });
const MAX_TEAMS = 1_000;
const MAX_MEMBERS = 1_000;

/** `/teams` and their members. */
export function teamRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, access, principalOf } = parts;
  const KIND = SERVER_KINDS.team;
  const config = { access: "account-admin" } as const;
  const list = async (request: FastifyRequest) =>
    listReadable(storage, KIND, accountTenancy(principalOf(request).account), {
      onDamaged: logDamaged(request.log),
    });

  /** Whose groups the groups of a team are: two identity providers may each have one of a name. */
  const issuerOf = (
    account: string,
    groups: readonly string[],
    provider: string | undefined,
    former = "",
  ): string => {
    const issuers = access.issuersOf(account);
    if (provider !== undefined) {
      const found = issuers.find((one) => one.provider === provider);
      if (found !== undefined) return found.issuer;
      throw new ServerError("unprocessable", `users of the account sign in with no "${provider}"`);
    }
    if (former !== "" || groups.length === 0) return former;
    const [only, ...others] = issuers;
    if (others.length === 0) return only?.issuer ?? "";
    const names = issuers.map((one) => one.provider).join(", ");
    throw new ServerError("unprocessable", `name the provider of the groups: one of ${names}`);
  };

  fastify.get(
    "/teams",
    {
      schema: routeSchema("List the teams of the account", "ListTeams", {
        200: Type.Object({ teams: Type.Array(TeamView) }),
      }),
      config,
    },
    async (request) => {
      const found = await list(request);
      const teams = found.map(({ message }) => teamViewOf(message));
      return { teams: teams.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
    },
  );

  fastify.post<{ Body: Static<typeof NewTeam> }>(
    "/teams",
    {
      schema: routeSchema(
        "Create a team; users of its groups at the identity provider are members without being listed",
        "CreateTeam",
        { 201: TeamView },
        { body: NewTeam },
        { 409: "the name is in use", 422: "too many teams, or no such identity provider" },
      ),
      config,
    },
    async (request, reply) => {
      const { account } = principalOf(request);
      const { name, description = "", groups = [], provider } = request.body;
      const issuer = issuerOf(account, groups, provider);
      const made = await transact(parts.audited(request), async (tx) => {
        const place = memberOfAccount(account, name);
        if ((await tx.find(KIND, place)) !== undefined) {
          throw new ServerError("name_taken", `there is a team "${name}"`);
        }
        const detail = `an account has at most ${MAX_TEAMS} teams`;
        const { tenancy } = place;
        await requireRoom(parts, tx, { kind: KIND, tenancy, most: MAX_TEAMS, detail });
        const team = Team.create({
          name,
          description,
          groups,
          issuer,
          createdAtMs: BigInt(tx.nowMs),
        });
        tx.create(KIND, place, team);
        return team;
      });
      access.forget(account);
      reply.header("location", `/api/v1/teams/${name}`);
      return reply.code(201).send(teamViewOf(made));
    },
  );

  fastify.get<{ Params: Static<typeof TeamParams> }>(
    "/teams/:team",
    {
      schema: routeSchema("Show a team", "ShowTeam", { 200: TeamView }, { params: TeamParams }),
      config,
    },
    async (request) => {
      const place = memberOfAccount(principalOf(request).account, request.params.team);
      return teamViewOf(await transact(parts, async (tx) => (await tx.get(KIND, place)).message));
    },
  );

  /** What a change leaves of a team. */
  const change = async (
    request: FastifyRequest,
    name: string,
    edit: (team: Team) => Partial<Team>,
    user?: string,
  ): Promise<Team> => {
    const { account } = principalOf(request);
    const changed = await transact(parts.audited(request), async (tx) => {
      const row = await tx.get(KIND, memberOfAccount(account, name));
      if (user !== undefined) await tx.get(SERVER_KINDS.user, memberOfAccount(account, user));
      const edited = edit(row.message);
      if (mayLoseMembers(row.message, edited)) {
        await requireAdministrator(access, tx, account, { team: { ...row.message, ...edited } });
      }
      tx.update(row, edited);
      return row.message;
    });
    access.forget(account);
    return changed;
  };

  fastify.patch<{ Params: Static<typeof TeamParams>; Body: Static<typeof TeamSettings> }>(
    "/teams/:team",
    {
      schema: routeSchema(
        "Change the description or the groups of a team",
        "ChangeTeam",
        { 200: TeamView },
        { params: TeamParams, body: TeamSettings },
        { 409: "no administrator would be left", 422: "no such identity provider" },
      ),
      config,
    },
    async (request) => {
      const { account } = principalOf(request);
      const { description, groups, provider } = request.body;
      return teamViewOf(
        await change(request, request.params.team, (team) => {
          const isBound = groups !== undefined || provider !== undefined;
          const bound = issuerOf(account, groups ?? team.groups, provider, team.issuer);
          return {
            ...(description !== undefined && { description }),
            ...(groups !== undefined && { groups }),
            ...(isBound && { issuer: bound }),
          };
        }),
      );
    },
  );

  fastify.delete<{ Params: Static<typeof TeamParams> }>(
    "/teams/:team",
    {
      schema: routeSchema(
        "Delete a team with its roles",
        "DeleteTeam",
        { 204: Type.Null() },
        { params: TeamParams },
        { 409: "no administrator would be left" },
      ),
      config,
    },
    async (request, reply) => {
      const { account } = principalOf(request);
      const { team: name } = request.params;
      const own = async () =>
        listBindings(
          parts,
          account,
          ({ subjectKind, subject }) => subjectKind === "team" && subject === name,
        );
      const inAccount = { account, kind: "team", subject: name } as const;
      const given = await own();
      if (given.some(({ project }) => project === "")) {
        await takeRole(parts.audited(request), inAccount);
      }
      await removeBindings(parts.audited(request), account, given);
      await transact(parts.audited(request), async (tx) => {
        const row = await tx.get(KIND, memberOfAccount(account, name));
        // A role that was given meanwhile has written the team: it is found here, or this begins again.
        for (const { project } of await own()) {
          const place = bindingPlace({ ...inAccount, ...(project !== "" && { project }) });
          if (project === "") {
            await requireAdministrator(access, tx, account, { role: inAccount });
          }
          tx.remove(await tx.get(SERVER_KINDS.roleBinding, place));
        }
        tx.remove(row);
      });
      access.forget(account);
      return reply.code(204).send();
    },
  );

  fastify.put<{ Params: Static<typeof MemberParams> }>(
    "/teams/:team/members/:user",
    {
      schema: routeSchema(
        "Add a user to a team",
        "AddTeamMember",
        { 200: TeamView },
        { params: MemberParams },
        { 422: "the team has too many members" },
      ),
      config,
    },
    async (request) => {
      const { team, user } = request.params;
      const edit = ({ members }: Team): Partial<Team> => {
        if (members.includes(user)) return { members };
        if (members.length >= MAX_MEMBERS) {
          throw new ServerError("unprocessable", `a team has at most ${MAX_MEMBERS} members`);
        }
        return { members: [...members, user].toSorted() };
      };
      return teamViewOf(await change(request, team, edit, user));
    },
  );

  fastify.delete<{ Params: Static<typeof MemberParams> }>(
    "/teams/:team/members/:user",
    {
      schema: routeSchema(
        "Remove a user from a team",
        "RemoveTeamMember",
        { 200: TeamView },
        { params: MemberParams },
        { 409: "no administrator would be left" },
      ),
      config,
    },
    async (request) => {
      const { team, user } = request.params;
      const edit = ({ members }: Team) => ({ members: members.filter((name) => name !== user) });
      return teamViewOf(await change(request, team, edit));
    },
  );
}

/** Whether a change takes members or groups away, or binds the groups to another provider. */
function mayLoseMembers(team: Team, { members, groups, issuer }: Partial<Team>): boolean {
  const lacks = (now: readonly string[], next: readonly string[] | undefined): boolean =>
    next !== undefined && now.some((one) => !next.includes(one));
  const isRebound = issuer !== undefined && issuer !== team.issuer && team.groups.length > 0;
  return lacks(team.members, members) || lacks(team.groups, groups) || isRebound;
}
