import type { FastifyInstance } from "fastify";
import { registerStackwrightApi } from "../http/stackwright-api.ts";
import type { StackwrightApiParts, StackwrightApiPluginOptions } from "./api-parts.ts";
import { auditRoutes } from "./audit-routes.ts";
import { credentialRoutes } from "./credential-routes.ts";
import { versionRoutes } from "./version-routes.ts";

/**
 * What the RFS API has no place for: where a provider is used, how its functions are, keys and tokens,
 * the audit trail. To be registered under a prefix, such as `/api/v1/registry`.
 */
export async function stackwrightApiPlugin(
  fastify: FastifyInstance,
  options: StackwrightApiPluginOptions,
): Promise<void> {
  const parts: StackwrightApiParts = {
    ...options,
    principalOf: registerStackwrightApi(fastify, options),
  };
  versionRoutes(fastify, parts);
  auditRoutes(fastify, parts);
  credentialRoutes(fastify, parts);
}
