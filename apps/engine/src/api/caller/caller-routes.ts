import { nameOfRole } from "@stackwright/registry";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { type ApiParts, routeSchema } from "../api-parts.ts";

const Caller = Type.Object(
  {
    actor: Type.String({ description: "the user, or the id of a credential without one" }),
    account: Type.String(),
    roles: Type.Array(Type.String()),
    projects: Type.Array(Type.String(), { description: "empty: all projects of the account" }),
    user: Type.Optional(Type.String()),
    credential: Type.Optional(
      Type.String({ description: "id of the token or of the login session of a user" }),
    ),
    project_roles: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: "further roles in single projects",
      }),
    ),
    stacks: Type.Optional(Type.Array(Type.String(), { description: "the only ones it may see" })),
  },
  { title: "Caller" },
);

/** `/caller`: whom the server takes the sender of a request for, so that a console offers what the credential may do. */
export function callerRoutes(fastify: FastifyInstance, { principalOf }: ApiParts): void {
  fastify.get(
    "/caller",
    {
      schema: routeSchema("Show the credential of the request", "ShowCaller", { 200: Caller }),
      config: { access: "self" },
    },
    async (request) => {
      const principal = principalOf(request);
      const { actor, account, roles, projects, user, credential, stacks } = principal;
      const own = [...(principal.projectRoles ?? [])];
      return {
        actor,
        account,
        roles: roles.map(nameOfRole),
        projects,
        ...(user !== undefined && { user }),
        ...(credential !== undefined && { credential }),
        ...(stacks !== undefined && { stacks }),
        ...(own.length > 0 && {
          project_roles: Object.fromEntries(
            own.map(([name, some]) => [name, some.map(nameOfRole)]),
          ),
        }),
      };
    },
  );
}
