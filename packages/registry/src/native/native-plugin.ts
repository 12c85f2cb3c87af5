import type { FastifyInstance } from "fastify";
import { nativeFace } from "../http/native-face.ts";
import { auditRoutes } from "./audit-routes.ts";
import { credentialRoutes } from "./credential-routes.ts";
import type { NativeOptions, NativeParts } from "./native-parts.ts";
import { versionRoutes } from "./version-routes.ts";

/**
 * What the RFS API has no place for: where a provider is used, how its functions are, keys and tokens,
 * the audit trail. To be registered under a prefix, such as `/api/v1/registry`.
 */
export async function nativePlugin(
  fastify: FastifyInstance,
  options: NativeOptions,
): Promise<void> {
  const parts: NativeParts = { ...options, principalOf: nativeFace(fastify, options) };
  versionRoutes(fastify, parts);
  auditRoutes(fastify, parts);
  credentialRoutes(fastify, parts);
}
