import type { FastifySchema } from "fastify";
import type { CredentialStore } from "../access/credentials.ts";
import { NATIVE_FAILURES, type NativeFaceOptions, type PrincipalOf } from "../http/native-face.ts";
import { describeRoute } from "../http/route-description.ts";

/** Options of {@link nativePlugin}. */
export interface NativeOptions extends NativeFaceOptions {
  readonly credentials: CredentialStore;
}

/** What the routes of {@link nativePlugin} work with. */
export interface NativeParts extends NativeOptions {
  readonly principalOf: PrincipalOf;
}

/** A route's description, with the refusals that all routes have in common. */
export function nativeSchema(
  tag: string,
  summary: string,
  success: Readonly<Record<number, object>>,
  request: Pick<FastifySchema, "params" | "querystring" | "body"> = {},
): FastifySchema {
  return describeRoute({
    tags: [tag],
    summary,
    response: { ...success, ...NATIVE_FAILURES },
    ...request,
  });
}
