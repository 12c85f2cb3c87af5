import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";
import { nameOfRole } from "@stackwright/registry";
import type { FastifySchema, RouteOptions } from "fastify";
import { describeAccess } from "../api/api-roles.ts";
import { withComponents } from "./component-schemas.ts";
import type { OpenApiDocument } from "./document.ts";
import { TAG_DESCRIPTIONS, tagOfPath } from "./operation-tags.ts";

const SUCCESS: Readonly<Record<string, string>> = {
  200: "what was asked for",
  201: "it was made",
  202: "it was accepted",
  204: "it was done",
};

/** How the OpenAPI document of a server of this version is made of its routes. */
export function openApiOptions(version: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: "3.1.0",
      info: { title: "Stackwright", version },
      tags: [...TAG_DESCRIPTIONS],
      components: {
        securitySchemes: {
          signature: {
            type: "apiKey",
            in: "header",
            name: "Authorization",
            description: "SDK-HMAC-SHA256 or V11-HMAC-SHA256 with an access key",
          },
          token: { type: "apiKey", in: "header", name: "X-Auth-Token" },
          bearer: { type: "http", scheme: "bearer" },
        },
      },
      security: [{ signature: [] }, { token: [] }, { bearer: [] }],
    },
    transform: ({ schema, url, route }) => ({ schema: described(schema, url, route), url }),
    transformObject: (made) =>
      "openapiObject" in made ? withSuccesses(withComponents(made.openapiObject as never)) : {},
  };
}

/** The schema of a route with its tag, and with what its caller needs. */
function described(schema: FastifySchema, url: string, { config }: RouteOptions): FastifySchema {
  if (schema === undefined) return schema;
  const tag = tagOfPath(url);
  const access = accessOf(config);
  return {
    ...schema,
    ...(tag !== undefined && { tags: [tag] }),
    ...(access !== undefined && { "x-access": access }),
  };
}

function accessOf(config: RouteOptions["config"]): string | undefined {
  if (config?.access !== undefined) return describeAccess(config.access);
  return config?.role === undefined ? undefined : `the role ${nameOfRole(config.role)}`;
}

/** Fastify describes answers that their routes do not describe by a name of its own. */
function withSuccesses<T extends OpenApiDocument>(document: T): T {
  for (const operations of Object.values(document.paths ?? {})) {
    for (const { responses = {} } of Object.values(operations)) {
      for (const [status, answer] of Object.entries(responses)) {
        if (answer.description !== "Default Response") continue;
        Object.assign(answer, { description: SUCCESS[status] ?? "an answer" });
      }
    }
  }
  return document;
}
