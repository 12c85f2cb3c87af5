import type { FastifySchema } from "fastify";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The body may take as long as it needs, and is limited by its handler. */
    readonly upload?: boolean;
  }
}

/** What the OpenAPI document says about a route, beyond what fastify itself knows. */
export interface RouteDescription extends FastifySchema {
  readonly operationId?: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly consumes?: readonly string[];
}

/** A description as fastify takes it. */
export function describeRoute(description: RouteDescription): FastifySchema {
  return description;
}
