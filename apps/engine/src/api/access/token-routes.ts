import {
  type Credential,
  hasRole,
  isAccountAdmin,
  isTokenId,
  type Principal,
  type Role,
} from "@stackwright/registry";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { memberOfAccount } from "../../access/access-places.ts";
import { USER_ROLES, type UserRole } from "../../access/effective-rights.ts";
import { unlessFull } from "../../access/unless-full.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { transact } from "../../queue/transaction.ts";
import { type ApiParts, ProjectName, routeSchema } from "../api-parts.ts";
import { timeOf } from "../runs/run-view.ts";
import { MadeToken, SubjectName, UserRoleSchema } from "./access-view.ts";

const DAY_MS = 24 * 3_600_000;
const DEFAULT_DAYS = 90;
const MAX_DAYS = 366;

const TokenView = Type.Object(
  {
    id: Type.String(),
    user: Type.Optional(Type.String({ description: "none: the token stands for itself" })),
    roles: Type.Array(Type.String(), {
      description: "the most that it allows of what its user may",
    }),
    projects: Type.Array(Type.String(), { description: "empty: all of its user" }),
    stacks: Type.Array(Type.String(), { description: "PROJECT/STACK; empty: all of its projects" }),
    description: Type.String(),
    created_at: Type.String(),
    expires_at: Type.Optional(Type.String()),
    used_at: Type.Optional(Type.String({ description: "the last use, to the hour" })),
  },
  { title: "Token" },
);
const NewToken = Type.Object(
  {
    role: UserRoleSchema,
    user: Type.Optional(SubjectName),
    projects: Type.Optional(Type.Array(ProjectName, { maxItems: 100, uniqueItems: true })),
    stacks: Type.Optional(
      Type.Array(
        Type.String({
          pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}/[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
        }),
        { maxItems: 100, uniqueItems: true },
      ),
    ),
    description: Type.Optional(Type.String({ maxLength: 256 })),
    expires_in_days: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_DAYS })),
  },
  { additionalProperties: false, title: "NewToken" },
);
const TokenParams = Type.Object({ token: Type.String({ pattern: "^token-[0-9a-f]{12}$" }) });

/**
 * `/tokens`: those of the caller, and of all of the account for its admins. A token has what its user may at the time of a request, and
 * no more than its role, projects and stacks.
 */
export function tokenRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { clock, credentials, principalOf } = parts;
  const config = { access: "self" } as const;
  /** Access keys, and the tokens of those above an admin, are managed with the credentials of the registry. */
  const visible = async (principal: Principal): Promise<readonly Credential[]> => {
    const all = await credentials.list(principal.account);
    const isAdmin = isAccountAdmin(principal);
    const own = all.find(({ actor }) => actor === principal.credential);
    const parents = new Map(all.map(({ actor, parent }) => [actor, parent]));
    const isMadeWith = ({ parent }: { readonly parent?: string | undefined }): boolean =>
      parent !== undefined &&
      (parent === own?.actor || isMadeWith({ parent: parents.get(parent) }));
    return all.filter((token) => {
      const { actor, user, roles } = token;
      if (!isTokenId(actor)) return false;
      if (isAdmin) return hasRole(principal, "operator") || !roles.includes("operator");
      const isOfUser = user !== undefined && user === principal.user;
      // A token that is limited manages none that may do more: only a session has all that its user has.
      if (!isOfUser || own === undefined) return isOfUser;
      return isWithin(token, own) || isMadeWith(token);
    });
  };

  fastify.get(
    "/tokens",
    {
      schema: routeSchema(
        "List the tokens of the caller, or of the account for its admins, without their secrets",
        "ListTokens",
        { 200: Type.Object({ tokens: Type.Array(TokenView) }) },
      ),
      config,
    },
    async (request) => ({ tokens: (await visible(principalOf(request))).map(viewOf) }),
  );

  fastify.post<{ Body: Static<typeof NewToken> }>(
    "/tokens",
    {
      schema: routeSchema(
        "Make a token of the caller, or of a service account; it is shown once",
        "CreateToken",
        { 201: MadeToken },
        { body: NewToken },
        {
          422: "the caller has no user, the named one is not a service account, or it has too many tokens",
        },
      ),
      config: { ...config, once: "begun-first" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { role, user, projects = [], stacks = [], description = "" } = request.body;
      const owner = user ?? principal.user;
      if (owner === undefined) {
        throw new ServerError(
          "unprocessable",
          `${principal.actor} belongs to no user: name a service account as user`,
        );
      }
      if (owner !== principal.user) await requireServiceAccount(principal, owner);
      const days = request.body.expires_in_days ?? DEFAULT_DAYS;
      // What is made with a token ends with it: a stolen one gives no longer access than itself.
      const { credential } = principal;
      const making = credentials.createToken({
        account: principal.account,
        user: owner,
        roles: [roleOf(role)],
        projects: projectsOf(projects, stacks),
        stacks,
        description,
        expireTimeMs: clock.wallMs() + days * DAY_MS,
        ...(isTokenId(credential) && { parent: credential }),
      });
      const made = await unlessFull(making);
      return reply.code(201).send({ id: made.tokenId, token: made.token });
    },
  );

  fastify.delete<{ Params: Static<typeof TokenParams> }>(
    "/tokens/:token",
    {
      schema: routeSchema(
        "Revoke a token, with those that were made with it",
        "RevokeToken",
        { 204: Type.Null() },
        { params: TokenParams },
      ),
      config,
    },
    async (request, reply) => {
      const { token } = request.params;
      const found = (await visible(principalOf(request))).some(({ actor }) => actor === token);
      if (!found) throw new ServerError("not_found", `there is no token "${token}"`);
      await credentials.revoke(token);
      return reply.code(204).send();
    },
  );

  async function requireServiceAccount(principal: Principal, name: string): Promise<void> {
    if (!isAccountAdmin(principal)) {
      throw new ServerError("forbidden", "only an admin of the account makes tokens of others");
    }
    const place = memberOfAccount(principal.account, name);
    const { message } = await transact(parts, async (tx) => tx.get(SERVER_KINDS.user, place));
    if (message.service) return;
    throw new ServerError(
      "unprocessable",
      `"${name}" makes its own tokens: only those of service accounts are made by others`,
    );
  }
}

function roleOf(role: UserRole): Role {
  return USER_ROLES[role];
}

/** Whether a token may do nothing that another one may not. */
function isWithin(token: Credential, limit: Credential): boolean {
  const includes = (all: readonly string[] = [], some: readonly string[] = []): boolean =>
    all.length === 0 || (some.length > 0 && some.every((one) => all.includes(one)));
  return (
    token.roles.every((role) => hasRole(limit, role)) &&
    includes(limit.projects, token.projects) &&
    includes(limit.stacks, token.stacks)
  );
}

/** Without any others, the projects of its stacks are those of a token. */
function projectsOf(projects: readonly string[], stacks: readonly string[]): readonly string[] {
  if (projects.length > 0) return projects;
  return [...new Set(stacks.map((stack) => stack.split("/", 1)[0] ?? ""))];
}

function viewOf(token: Credential): Static<typeof TokenView> {
  const { actor: id, user, roles, projects, stacks = [], description } = token;
  const names = new Map<Role, string>(
    Object.entries(USER_ROLES).map(([name, role]) => [role, name]),
  );
  return {
    id,
    ...(user !== undefined && { user }),
    roles: roles.map((role) => names.get(role) ?? (role === "operator" ? "site-admin" : role)),
    projects: [...projects],
    stacks: [...stacks],
    description,
    created_at: timeOf(BigInt(Math.floor(token.createTimeMs))),
    ...(token.expireTimeMs !== undefined && { expires_at: timeOf(BigInt(token.expireTimeMs)) }),
    ...(token.lastUseTimeMs !== undefined && { used_at: timeOf(BigInt(token.lastUseTimeMs)) }),
  };
}
