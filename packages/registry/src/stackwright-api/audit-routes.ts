import type { FastifyInstance } from "fastify";
import type { Static } from "typebox";
import { apiSchema, type StackwrightApiParts } from "./api-parts.ts";
import * as schemas from "./schemas.ts";

/** The audit trail of the caller's account. */
export function auditRoutes(fastify: FastifyInstance, parts: StackwrightApiParts): void {
  const { registry, region, principalOf } = parts;
  fastify.get<{ Querystring: Static<typeof schemas.AuditQuery> }>(
    "/audit",
    {
      config: { role: "admin" },
      schema: apiSchema(
        "administration",
        "The audit trail of a day",
        { 200: schemas.AuditEntries },
        { querystring: schemas.AuditQuery },
      ),
    },
    async (request) => {
      const today = new Date(registry.parts.clock.wallMs()).toISOString().slice(0, 10);
      const { account } = principalOf(request);
      return { entries: await registry.auditDay({ account, region }, request.query.day ?? today) };
    },
  );
}
