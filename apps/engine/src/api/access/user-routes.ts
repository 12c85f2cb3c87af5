import { User } from "@stackwright/proto/stackwright";
import type { Role } from "@stackwright/registry";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { accountTenancy, memberOfAccount } from "../../access/access-places.ts";
import { isMember, rightsOfUser, USER_ROLES } from "../../access/effective-rights.ts";
import { requireAdministrator } from "../../access/last-administrator.ts";
import { requireUserRoom } from "../../access/user-room.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../../queue/list-readable.ts";
import { transact } from "../../queue/transaction.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { NewUser, SubjectName, UserSettings, UserView, userViewOf } from "./access-view.ts";

const UserParams = Type.Object({ user: SubjectName });
const RightsView = Type.Object(
  {
    disabled: Type.Boolean({ description: "it may do nothing, regardless of its roles" }),
    teams: Type.Array(Type.String()),
    roles: Type.Array(Type.String(), { description: "in the whole account" }),
    projects: Type.Array(
      Type.Object({ project: Type.String(), roles: Type.Array(Type.String()) }),
      { description: "further roles in single projects" },
    ),
  },
  { title: "UserRights" },
);
function nameOf({ name }: { readonly name: string }): string {
  return name;
}

/** What users and teams are given, by what credentials call it. */
function userRoleOf(role: Role): string {
  return Object.entries(USER_ROLES).find(([, own]) => own === role)?.[0] ?? role;
}

/** `/users`. They are disabled rather than deleted: what they did stays theirs, and no other user gets their names. */
export function userRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, access, principalOf } = parts;
  const KIND = SERVER_KINDS.user;
  const config = { access: "account-admin" } as const;
  const list = async (request: FastifyRequest) =>
    listReadable(storage, KIND, accountTenancy(principalOf(request).account), {
      onDamaged: logDamaged(request.log),
    });

  fastify.get(
    "/users",
    {
      schema: routeSchema("List the users and service accounts of the account", "ListUsers", {
        200: Type.Object({ users: Type.Array(UserView) }),
      }),
      config,
    },
    async (request) => {
      const found = await list(request);
      const users = found.map(({ message }) => userViewOf(message));
      return { users: users.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
    },
  );

  fastify.post<{ Body: Static<typeof NewUser> }>(
    "/users",
    {
      schema: routeSchema(
        "Create a user, before it signs in, or a service account",
        "CreateUser",
        { 201: UserView },
        { body: NewUser },
        { 409: "the name is in use", 422: "the account has too many users" },
      ),
      config,
    },
    async (request, reply) => {
      const { account } = principalOf(request);
      const { name, service = false, ...settings } = request.body;
      const made = await transact(parts.audited(request), async (tx) => {
        const place = memberOfAccount(account, name);
        if ((await tx.find(KIND, place)) !== undefined) {
          throw new ServerError("name_taken", `there is a user "${name}"`);
        }
        await requireUserRoom(parts, tx, account);
        const createdAtMs = BigInt(tx.nowMs);
        const user = User.create({ name, service, ...settingsOf(settings), createdAtMs });
        tx.create(KIND, place, user);
        return user;
      });
      access.forget(account);
      reply.header("location", `/api/v1/users/${name}`);
      return reply.code(201).send(userViewOf(made));
    },
  );

  fastify.get<{ Params: Static<typeof UserParams> }>(
    "/users/:user",
    {
      schema: routeSchema("Show a user", "ShowUser", { 200: UserView }, { params: UserParams }),
      config,
    },
    async (request) => {
      const place = memberOfAccount(principalOf(request).account, request.params.user);
      return userViewOf(await transact(parts, async (tx) => (await tx.get(KIND, place)).message));
    },
  );

  fastify.get<{ Params: Static<typeof UserParams> }>(
    "/users/:user/rights",
    {
      schema: routeSchema(
        "Show what a user may do, by all of its roles and teams",
        "ShowUserRights",
        { 200: RightsView },
        { params: UserParams },
      ),
      config,
    },
    async (request) => {
      const { account } = principalOf(request);
      const { user: name } = request.params;
      access.forget(account);
      const facts = await access.facts(account);
      const user = facts.users.get(name);
      if (user === undefined) throw new ServerError("not_found", `there is no user "${name}"`);
      const { roles, projects, projectRoles = new Map() } = rightsOfUser(facts, user);
      return {
        disabled: user.disabled,
        teams: facts.teams.filter((team) => isMember(team, user, facts.onlyIssuer)).map(nameOf),
        // What it has in single projects alone counts there, and not in the account.
        roles: projects.length > 0 ? [] : roles.map(userRoleOf),
        projects: [...projectRoles].map(([project, some]: [string, readonly Role[]]) => ({
          project,
          roles: some.map(userRoleOf),
        })),
      };
    },
  );

  fastify.patch<{ Params: Static<typeof UserParams>; Body: Static<typeof UserSettings> }>(
    "/users/:user",
    {
      schema: routeSchema(
        "Change a user; one that is disabled is refused with all of its tokens and sessions",
        "ChangeUser",
        { 200: UserView },
        { params: UserParams, body: UserSettings },
        { 409: "no administrator would be left" },
      ),
      config,
    },
    async (request) => {
      const { account } = principalOf(request);
      const place = memberOfAccount(account, request.params.user);
      const changed = await transact(parts.audited(request), async (tx) => {
        const row = await tx.get(KIND, place);
        if (request.body.disabled === true && !row.message.disabled) {
          await requireAdministrator(access, tx, account, { user: row.message.name });
        }
        tx.update(row, settingsOf(request.body));
        return row.message;
      });
      access.forget(account);
      return userViewOf(changed);
    },
  );
}

function settingsOf(settings: Static<typeof UserSettings>): Partial<User> {
  const { display_name: displayName, email, disabled } = settings;
  return {
    ...(displayName !== undefined && { displayName }),
    ...(email !== undefined && { email }),
    ...(disabled !== undefined && { disabled }),
  };
}
