import type { FastifyInstance } from "fastify";
import type { Static } from "typebox";
import { coveredUsers, requireUser } from "../access/covered-users.ts";
import type { Principal } from "../access/principal.ts";
import { clientSignal } from "../http/client-signal.ts";
import { requestContext } from "../http/request-audit.ts";
import { apiSchema, type StackwrightApiParts } from "./api-parts.ts";
import * as schemas from "./schemas.ts";

const TAG = "private providers";
const VERSION = "/private-providers/:name/versions/:version";

/** Where versions are used, and how their functions are. */
export function versionRoutes(fastify: FastifyInstance, parts: StackwrightApiParts): void {
  const { registry, region, principalOf, userOfStack } = parts;
  const scopeOf = ({ account }: Principal) => ({ account, region });

  fastify.get<{
    Params: Static<typeof schemas.ProviderParams>;
    Querystring: Static<typeof schemas.UsesQuery>;
  }>(
    "/private-providers/:name/uses",
    {
      config: { role: "reader" },
      schema: apiSchema(
        TAG,
        "Where a provider is used, in the projects and stacks that the caller may see",
        { 200: schemas.Uses },
        { params: schemas.ProviderParams, querystring: schemas.UsesQuery },
      ),
    },
    async (request) => {
      const principal = principalOf(request);
      const scope = scopeOf(principal);
      const { providerId } = await registry.showProvider(scope, request.params);
      const covers = await coveredUsers(principal, userOfStack);
      const uses = await registry.listUsage(scope, providerId);
      const { user: wanted } = request.query;
      return {
        uses: uses.filter(({ user }) => covers(user) && (wanted === undefined || user === wanted)),
      };
    },
  );

  fastify.put<{
    Params: Static<typeof schemas.VersionParams>;
    Body: Static<typeof schemas.RecordUseBody>;
  }>(
    `${VERSION}/uses`,
    {
      config: { role: "deployer" },
      schema: apiSchema(
        TAG,
        "Record that a stack uses a version; harmless when repeated",
        { 204: schemas.EMPTY_BODY },
        { params: schemas.VersionParams, body: schemas.RecordUseBody },
      ),
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { user, provider_id: providerId } = request.body;
      await requireUser(principal, user, userOfStack);
      const signal = clientSignal(reply);
      const at = { ...request.params, providerId };
      const context = requestContext(request, principal, signal);
      await registry.recordUsage(scopeOf(principal), at, user, { signal, context });
      return reply.code(204).send();
    },
  );

  fastify.delete<{
    Params: Static<typeof schemas.VersionParams>;
    Querystring: Static<typeof schemas.ReleaseUseQuery>;
  }>(
    `${VERSION}/uses`,
    {
      config: { role: "deployer" },
      schema: apiSchema(
        TAG,
        "Release the use of a version; harmless when repeated",
        { 204: schemas.EMPTY_BODY },
        { params: schemas.VersionParams, querystring: schemas.ReleaseUseQuery },
      ),
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { user } = request.query;
      await requireUser(principal, user, userOfStack);
      const { name, version } = request.params;
      const scope = scopeOf(principal);
      const signal = clientSignal(reply);
      const { providerId } = await registry.showProvider(scope, { name }, { signal });
      const context = requestContext(request, principal, signal);
      await registry.deleteUsage(scope, { providerId, version, user }, { signal, context });
      return reply.code(204).send();
    },
  );

  fastify.get<{ Params: Static<typeof schemas.VersionParams> }>(
    `${VERSION}/health`,
    {
      config: { role: "reader" },
      schema: apiSchema(
        TAG,
        "What the last check of a function found",
        { 200: schemas.Health },
        { params: schemas.VersionParams },
      ),
    },
    async (request) => {
      const health = await registry.showHealth(scopeOf(principalOf(request)), request.params);
      return { health: health ?? null };
    },
  );

  fastify.post<{ Params: Static<typeof schemas.VersionParams> }>(
    `${VERSION}/checks`,
    {
      config: { role: "publisher" },
      schema: apiSchema(
        TAG,
        "Check a function now",
        { 200: schemas.Health },
        { params: schemas.VersionParams },
      ),
    },
    async (request, reply) => {
      const scope = scopeOf(principalOf(request));
      const options = { signal: clientSignal(reply) };
      return { health: await registry.checkHealth(scope, request.params, options) };
    },
  );

  fastify.post<{ Body: Static<typeof schemas.FunctionCheckBody> }>(
    "/function-checks",
    {
      config: { role: "publisher" },
      schema: apiSchema(
        TAG,
        "Check a function before a version is made of it; nothing is stored",
        { 200: schemas.FunctionHealth },
        { body: schemas.FunctionCheckBody },
      ),
    },
    async (request, reply) => {
      const scope = scopeOf(principalOf(request));
      const options = { signal: clientSignal(reply) };
      return registry.checkFunction(scope, request.body.function_graph_urn, options);
    },
  );
}
