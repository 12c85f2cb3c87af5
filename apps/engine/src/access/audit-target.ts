import type { FastifyRequest } from "fastify";

const MAX_CHARACTERS = 256;

/** What an entry of the audit trail says a request is for: its address below `/api/v1`, without a query. */
export function auditTargetOf({ raw }: FastifyRequest): string {
  const start = "/api/v1/".length;
  return (raw.url ?? "").split("?", 1)[0]?.slice(start, MAX_CHARACTERS) ?? "";
}
