import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { exportedEntry } from "../../audit-webhook/entry-view.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";

const LINES = "application/x-ndjson";

const Query = Type.Object(
  {
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "sequence of the last entry that was read; from the first one without it",
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 200 })),
  },
  { additionalProperties: false },
);

const EntryView = Type.Object(
  {
    sequence: Type.Integer({ description: "place in the order of the trail; what after takes" }),
    id: Type.String({ description: "ULID" }),
    at: Type.String(),
    actor: Type.String(),
    action: Type.String({ description: "such as CreateRun" }),
    target: Type.String(),
    outcome: Type.String({ description: "done, or the code of the refusal" }),
    request_id: Type.String(),
    client_request_id: Type.Optional(Type.String()),
    remote_address: Type.Optional(Type.String()),
    credential: Type.Optional(Type.String()),
  },
  { title: "AuditEntry" },
);

/** `/audit`: the trail of the account for programs that keep it elsewhere, from one entry to the next. */
export function auditRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { audit, principalOf } = parts;

  fastify.get<{ Querystring: Static<typeof Query> }>(
    "/audit",
    {
      schema: routeSchema(
        "List what follows an entry of the audit trail, in the order of their sequence; as JSON lines for Accept: application/x-ndjson",
        "ExportAudit",
        {
          200: Type.Object({
            entries: Type.Array(EntryView),
            next: Type.Optional(Type.Integer({ description: "what after takes; none at the end" })),
          }),
        },
        { querystring: Query },
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const { after = 0, limit = 200 } = request.query;
      const { account } = principalOf(request);
      const entries = (await audit.page(account, { after, limit })).map(exportedEntry);
      if (request.headers.accept?.includes(LINES) === true) {
        const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
        return reply.type(LINES).serializer(String).send(lines);
      }
      const last = entries.length < limit ? undefined : entries.at(-1);
      return { entries, ...(last !== undefined && { next: last.sequence }) };
    },
  );
}
