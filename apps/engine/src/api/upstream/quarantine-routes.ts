import type { UpstreamVersion } from "@stackwright/proto/stackwright";
import { isStrictVersion, type ProviderAddress } from "@stackwright/provider-source";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { timeOf } from "../runs/run-view.ts";

const part = Type.String({ minLength: 1, maxLength: 128 });
const VersionParams = Type.Object({ host: part, namespace: part, type: part, version: part });
const Reason = Type.Object(
  { reason: Type.String({ maxLength: 500 }) },
  { additionalProperties: false, title: "QuarantineReason" },
);
const QuarantinedView = Type.Object(
  {
    provider: Type.String(),
    version: Type.String(),
    reason: Type.String(),
    actor: Type.String(),
    at: Type.String(),
  },
  { title: "QuarantinedVersion" },
);

const QUARANTINE = "/registry/quarantine";
const VERSION = `${QUARANTINE}/:host/:namespace/:type/:version`;

type OfVersion = { Params: Static<typeof VersionParams> };

/** `/registry/quarantine`: versions of upstream providers that the mirror offers no longer. */
export function quarantineRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { upstream, principalOf } = parts;

  fastify.get(
    QUARANTINE,
    {
      schema: routeSchema(
        "List the versions of upstream providers that are in quarantine",
        "ListQuarantined",
        { 200: Type.Object({ versions: Type.Array(QuarantinedView) }, { title: "Quarantined" }) },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const found = await upstream.quarantined(principalOf(request).account, undefined);
      return { versions: found.map(([version, provider, one]) => viewOf(provider, version, one)) };
    },
  );

  fastify.put<OfVersion & { Body: Static<typeof Reason> }>(
    VERSION,
    {
      schema: routeSchema(
        "Put a version of an upstream provider into quarantine",
        "QuarantineVersion",
        { 200: QuarantinedView },
        { params: VersionParams, body: Reason },
      ),
      config: { access: "account-admin" },
    },
    async (request) => {
      const { account, actor } = principalOf(request);
      const { version } = request.params;
      const address = addressOf(request.params);
      const change = { reason: request.body.reason, actor };
      const audited = parts.audited(request);
      const one = await upstream.quarantine(account, address, version, change, audited);
      return viewOf(address.toString(), version, one);
    },
  );

  fastify.delete<OfVersion>(
    VERSION,
    {
      schema: routeSchema(
        "Take a version of an upstream provider out of quarantine",
        "ReleaseVersion",
        { 204: Type.Null() },
        { params: VersionParams },
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const { account } = principalOf(request);
      const { version } = request.params;
      const address = addressOf(request.params);
      await upstream.quarantine(account, address, version, undefined, parts.audited(request));
      return reply.code(204).send();
    },
  );

  function addressOf({ host, namespace, type, version }: OfVersion["Params"]): ProviderAddress {
    const address = upstream.address(host, namespace, type);
    if (address !== undefined && isStrictVersion(version)) return address;
    throw new ServerError("not_found", "the server mirrors no such provider (--upstream-host)");
  }
}

function viewOf(provider: string, version: string, one: UpstreamVersion) {
  const { quarantineReason: reason, quarantinedBy: actor, quarantinedAtMs } = one;
  return { provider, version, reason, actor, at: timeOf(quarantinedAtMs) };
}
