import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { RegistryError } from "../errors.ts";
import { clientSignal } from "../http/client-signal.ts";
import { requestContext } from "../http/request-audit.ts";
import { describeRoute } from "../http/route-description.ts";
import {
  announcedDigest,
  registerStackwrightApi,
  STACKWRIGHT_API_ERRORS,
  type StackwrightApiOptions,
} from "../http/stackwright-api.ts";
import { namespaceRoutes } from "./namespace-routes.ts";
import { changeRelease, checkPublication, type PublishLimits, publishArchive } from "./publish.ts";

/** Options of {@link publishPlugin}. */
export interface PublishOptions extends StackwrightApiOptions {
  readonly limits?: PublishLimits | undefined;
}

const part = Type.String({ minLength: 1, maxLength: 128 });
const versionMembers = { namespace: part, type: part, version: part };
const VersionParams = Type.Object(versionMembers, { additionalProperties: false });
const ArchiveParams = Type.Object(
  { ...versionMembers, platform: part },
  { additionalProperties: false },
);
const ArchiveQuery = Type.Object(
  {
    protocols: Type.Optional(Type.String({ default: "5.0", examples: ["5.0,6.0"], maxLength: 64 })),
  },
  { additionalProperties: false },
);
const DeprecationBody = Type.Object(
  { deprecation: Type.String({ maxLength: 500 }) },
  { additionalProperties: false },
);
const Archive = Type.Object({
  filename: Type.String(),
  sha256: Type.String(),
  h1: Type.String({ description: "hash of the content, as lock files have it" }),
});

type VersionParams = Type.Static<typeof VersionParams>;

/**
 * How archives get into the registry: namespaces, uploads, withdrawal, deprecation. To be registered
 * under a prefix, such as `/api/v1/registry`.
 *
 * An upload is `PUT .../{namespace}/{type}/{version}/{platform}` with the archive as its body, which is
 * streamed into the blob store and judged there. A signed request carries the digest of the body in
 * `X-Sdk-Content-Sha256`, as the signature is compared before the body is read.
 */
export async function publishPlugin(
  fastify: FastifyInstance,
  options: PublishOptions,
): Promise<void> {
  const { registry, region, limits = {} } = options;
  const principalOf = registerStackwrightApi(fastify, options);
  namespaceRoutes(fastify, registry, principalOf);
  const tags = ["publishing"];
  const failures = STACKWRIGHT_API_ERRORS;

  fastify.put<{
    Params: Type.Static<typeof ArchiveParams>;
    Querystring: Type.Static<typeof ArchiveQuery>;
  }>(
    "/providers/:namespace/:type/:version/:platform",
    {
      // Bodies of other routes have to arrive in a fixed time; this one only has to keep coming.
      config: { upload: true, role: "publisher" },
      schema: describeRoute({
        tags,
        summary: "Publish an archive",
        description:
          "The body is the zip archive. Publishing the same archive again has no effect.",
        consumes: ["application/zip"],
        params: ArchiveParams,
        querystring: ArchiveQuery,
        response: { 200: Archive, 201: Archive, ...failures },
      }),
    },
    async (request, reply) => {
      const expected = announcedDigest(request);
      const { account } = principalOf(request);
      const checked = await checkPublication(registry, account, {
        ...request.params,
        protocols: (request.query.protocols ?? "5.0").split(","),
      });
      const announced = Number(request.headers["content-length"] ?? 0);
      if (announced > (limits.maxArchiveBytes ?? 1024 ** 3)) {
        throw new RegistryError("REGISTRY_ARCHIVE_TOO_LARGE");
      }
      const context = requestContext(request, principalOf(request), clientSignal(reply));
      const result = await publishArchive(
        registry,
        region,
        checked,
        request.raw,
        context,
        limits,
        expected,
      );
      reply.code(result.added ? 201 : 200);
      return { filename: checked.filename, sha256: result.sha256, h1: result.h1 };
    },
  );

  fastify.patch<{ Params: VersionParams; Body: Type.Static<typeof DeprecationBody> }>(
    "/providers/:namespace/:type/:version",
    {
      config: { role: "publisher" },
      schema: describeRoute({
        tags,
        summary: "Deprecate a version",
        description: "The command shows the text with the versions.",
        params: VersionParams,
        body: DeprecationBody,
        response: { 204: Type.Null(), ...failures },
      }),
    },
    async (request, reply) => {
      await change(request, { deprecation: request.body.deprecation });
      return reply.code(204).send();
    },
  );

  fastify.delete<{ Params: VersionParams }>(
    "/providers/:namespace/:type/:version",
    {
      config: { role: "publisher" },
      schema: describeRoute({
        tags,
        summary: "Withdraw a version",
        description: "It is offered no more; its number stays taken by the same archives.",
        params: VersionParams,
        response: { 204: Type.Null(), ...failures },
      }),
    },
    async (request, reply) => {
      await change(request, { withdrawn: true });
      return reply.code(204).send();
    },
  );

  async function change(
    request: FastifyRequest<{ Params: VersionParams }>,
    what: { readonly withdrawn?: true; readonly deprecation?: string },
  ): Promise<void> {
    const principal = principalOf(request);
    const context = requestContext(request, principal);
    await changeRelease(registry, region, request.params, principal.account, what, context);
  }
}
