import type { FastifySchema } from "fastify";
import type { Role } from "../access/principal.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The body may take as long as it needs, and is limited by its handler. */
    readonly upload?: boolean;
    /** The role that a caller of our own API needs. */
    readonly role?: Role;
    /** What is done stays within the projects of a caller that is limited to some. @default refused for these, beyond deployments */
    readonly limits?: "projects";
    /** A request without a body is taken as one with an empty object. */
    readonly bodyOptional?: boolean;
  }
}

/** What the OpenAPI document says about a route, beyond what fastify itself knows. */
interface RouteDescription extends FastifySchema {
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
