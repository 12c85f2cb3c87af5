import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { STACK_KIND } from "../../domain/run-places.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";

/** `/projects`: the projects of the account that have stacks. */
export function projectRoutes(fastify: FastifyInstance, { storage, principalOf }: ApiParts): void {
  const Projects = Type.Object({ projects: Type.Array(Type.Object({ name: Type.String() })) });
  fastify.get(
    "/projects",
    {
      schema: routeSchema("List projects", "ListProjects", { 200: Projects }),
      config: { access: "viewer" },
    },
    async (request) => {
      const { account, projects: own } = principalOf(request);
      const everywhere = { partition: account, peerName: "*", namespace: "*" };
      const found = await storage.list("strong", STACK_KIND.type, everywhere, "");
      const names = new Set(found.map(({ id }) => id.tenancy.namespace));
      const visible = [...names].filter((name) => own.length === 0 || own.includes(name));
      return { projects: visible.toSorted().map((name) => ({ name })) };
    },
  );
}
