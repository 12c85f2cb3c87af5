import type { FastifySchema } from "fastify";
import type { UserOfStack } from "../access/covered-users.ts";
import type { CredentialStore } from "../access/credentials.ts";
import { describeRoute } from "../http/route-description.ts";
import {
  type PrincipalOf,
  STACKWRIGHT_API_ERRORS,
  type StackwrightApiOptions,
} from "../http/stackwright-api.ts";

/** Options of {@link stackwrightApiPlugin}. */
export interface StackwrightApiPluginOptions extends StackwrightApiOptions {
  readonly credentials: CredentialStore;
  /** Names stacks as uses do. Without it, callers that are limited to stacks see no uses and record none. */
  readonly userOfStack?: UserOfStack | undefined;
}

/** What the routes of {@link stackwrightApiPlugin} work with. */
export interface StackwrightApiParts extends StackwrightApiPluginOptions {
  readonly principalOf: PrincipalOf;
}

/** A route's description, with the refusals that all routes have in common. */
export function apiSchema(
  tag: string,
  summary: string,
  success: Readonly<Record<number, object>>,
  request: Pick<FastifySchema, "params" | "querystring" | "body"> = {},
): FastifySchema {
  return describeRoute({
    tags: [tag],
    summary,
    response: { ...success, ...STACKWRIGHT_API_ERRORS },
    ...request,
  });
}
