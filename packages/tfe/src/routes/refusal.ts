import type { FastifyRequest } from "fastify";
import type { TfeRefusal } from "../port/tfe-port.ts";
import type { RouteContext } from "./route-context.ts";

const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const MAX_TARGET = 256;

/** What is to be noted of a request that gets a status; undefined for reads, for what was done or failed, and for what is no route. */
export function refusalOf(
  { prefix, signers }: RouteContext,
  request: FastifyRequest,
  status: number,
): TfeRefusal | undefined {
  const { method, routeOptions } = request;
  const { url } = routeOptions;
  if (READS.has(method) || status < 400 || status >= 500 || url === undefined) return undefined;
  const path = url.slice(prefix.length);
  const given = (request.raw.url ?? "").split("?", 1)[0] ?? "";
  // A signed address is a permission, and may be of use again.
  const target = path.includes(":signed") ? path : given.slice(prefix.length);
  return {
    route: `${method} ${path}`,
    target: target.slice(1, MAX_TARGET),
    status,
    signer: signers.get(request),
  };
}
