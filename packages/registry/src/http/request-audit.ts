import type { FastifyRequest } from "fastify";
import type { Principal } from "../access/principal.ts";
import type { RequestContext } from "../domain/model.ts";
import { isRegistryError, type RegistryError } from "../errors.ts";
import type { Registry } from "../registry.ts";

/** Refusals that an operator should be able to find later. */
const NOTED = new Set([401, 403, 404, 409, 413, 422, 429]);

/** Who asks, for the domain. */
export function requestContext(
  request: FastifyRequest,
  principal: Principal | undefined,
  signal?: AbortSignal,
): RequestContext {
  const clientRequestId = request.headers["client-request-id"];
  return {
    actor: principal?.actor ?? "",
    requestId: request.id,
    clientRequestId:
      typeof clientRequestId === "string" ? clientRequestId.slice(0, 128) : undefined,
    remoteAddress: request.ip,
    signal,
  };
}

/** Puts a refusal into the audit trail of the account, or of the system where the caller was not authenticated. */
export async function auditRefusal(
  registry: Registry,
  region: string,
  request: FastifyRequest,
  principal: Principal | undefined,
  error: unknown,
): Promise<void> {
  const outcome = outcomeOf(error);
  if (outcome === undefined) return;
  const scope = principal && { account: principal.account, region };
  await registry.auditRefusal(scope, requestContext(request, principal), {
    action: `${request.method} ${request.routeOptions.url ?? "?"}`,
    target: (request.raw.url ?? "").slice(0, 200),
    outcome,
  });
}

function outcomeOf(error: unknown): string | undefined {
  if (isRegistryError(error)) {
    return NOTED.has(error.httpStatus) || error.code === "REGISTRY_MARKER_INVALID"
      ? refusalCode(error)
      : undefined;
  }
  const status = (error as { statusCode?: unknown }).statusCode;
  return typeof status === "number" && NOTED.has(status) ? `HTTP_${status}` : undefined;
}

/** With the reason of a failed signature, which is not sent to the client. */
function refusalCode(error: RegistryError): string {
  const { cause } = error;
  const reason = (cause as { code?: unknown } | undefined)?.code;
  return typeof reason === "string" ? `${error.code}:${reason}` : error.code;
}
