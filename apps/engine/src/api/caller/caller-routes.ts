import { nameOfRole } from "@stackwright/registry";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { type ApiParts, routeSchema } from "../api-parts.ts";

const Caller = Type.Object(
  {
    actor: Type.String({ description: "id of the credential" }),
    account: Type.String(),
    roles: Type.Array(Type.String()),
    projects: Type.Array(Type.String(), { description: "empty: all projects of the account" }),
  },
  { title: "Caller" },
);

/** `/caller`: whom the server takes the sender of a request for, so that a console offers what the credential may do. */
export function callerRoutes(fastify: FastifyInstance, { principalOf }: ApiParts): void {
  fastify.get(
    "/caller",
    {
      schema: routeSchema("Show the credential of the request", "ShowCaller", { 200: Caller }),
      config: { access: "viewer" },
    },
    async (request) => {
      const { actor, account, roles, projects } = principalOf(request);
      return { actor, account, roles: roles.map(nameOfRole), projects };
    },
  );
}
