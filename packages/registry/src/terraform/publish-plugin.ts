import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { hasRole, type Principal, requireRole } from "../access/principal.ts";
import { invalidField, RegistryError } from "../errors.ts";
import { clientSignal } from "../http/client-signal.ts";
import {
  NATIVE_FAILURES,
  type NativeFaceOptions,
  nativeFace,
  readSmallBody,
} from "../http/native-face.ts";
import { requestContext } from "../http/request-audit.ts";
import { describeRoute } from "../http/route-description.ts";
import { parseBody } from "../rfs/strict-json.ts";
import { claimNamespace, findNamespace } from "./namespaces.ts";
import { changeRelease, checkPublication, type PublishLimits, publishArchive } from "./publish.ts";

/** Options of {@link publishPlugin}. */
export interface PublishOptions extends NativeFaceOptions {
  readonly limits?: PublishLimits | undefined;
}

const DIGEST = /^[0-9a-f]{64}$/;

interface VersionParams {
  namespace: string;
  type: string;
  version: string;
}

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
  const recognise = nativeFace(fastify, options);

  const tags = ["publishing"];
  const failures = NATIVE_FAILURES;

  fastify.put<{ Params: { namespace: string } }>(
    "/namespaces/:namespace",
    {
      schema: describeRoute({
        tags,
        summary: "Take a namespace for an account, or set whether it is public",
        body: Type.Object({
          public: Type.Optional(Type.Boolean({ default: false })),
          account: Type.Optional(Type.String({ description: "another account; operators only" })),
        }),
        response: { 200: Type.Object({}), ...failures },
      }),
    },
    async (request) => {
      const raw = await readSmallBody(request);
      const principal = await recognise(request, raw);
      requireRole(principal, "admin");
      const body = raw.byteLength === 0 ? {} : parseBody(raw);
      const { account = principal.account } = body;
      if (typeof account !== "string") {
        throw invalidField("account", "wrong-type", "account is a string");
      }
      if (account !== principal.account && !hasRole(principal, "operator")) {
        throw new RegistryError("REGISTRY_FORBIDDEN", "only operators act for other accounts");
      }
      const namespace = {
        name: request.params.namespace,
        account,
        public: body["public"] === true,
      };
      await claimNamespace(registry, namespace, requestContext(request, principal));
      return namespace;
    },
  );

  fastify.put<{ Params: VersionParams & { platform: string } }>(
    "/providers/:namespace/:type/:version/:platform",
    {
      // Bodies of other routes have to arrive in a fixed time; this one only has to keep coming.
      config: { upload: true },
      schema: describeRoute({
        tags,
        summary: "Publish an archive",
        description: "The body is the zip archive. The same archive again is no error.",
        consumes: ["application/zip"],
        querystring: Type.Object({
          protocols: Type.Optional(Type.String({ default: "5.0", examples: ["5.0,6.0"] })),
        }),
        response: { 200: Type.Object({}), 201: Type.Object({}), ...failures },
      }),
    },
    async (request, reply) => {
      const claimed = request.headers["x-sdk-content-sha256"];
      const expected = typeof claimed === "string" && DIGEST.test(claimed) ? claimed : undefined;
      const principal = await recognise(request, { sha256: expected ?? "" });
      requireRole(principal, "publisher");
      const { account } = principal;
      const protocols = new URL(request.url, "http://x").searchParams.get("protocols") ?? "5.0";
      const checked = await checkPublication(registry, account, {
        ...request.params,
        protocols: protocols.split(","),
      });
      const announced = Number(request.headers["content-length"] ?? 0);
      if (announced > (limits.maxArchiveBytes ?? 1024 ** 3)) {
        throw new RegistryError("REGISTRY_ARCHIVE_TOO_LARGE");
      }
      const context = requestContext(request, principal, clientSignal(reply));
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

  fastify.patch<{ Params: VersionParams }>(
    "/providers/:namespace/:type/:version",
    {
      schema: describeRoute({
        tags,
        summary: "Deprecate a version",
        description: "The text is shown by the command to whoever looks for versions.",
        body: Type.Object({ deprecation: Type.String({ maxLength: 500 }) }),
        response: { 204: Type.Null(), ...failures },
      }),
    },
    async (request, reply) => {
      const raw = await readSmallBody(request);
      const principal = await recognise(request, raw);
      const { deprecation } = parseBody(raw);
      if (typeof deprecation !== "string" || deprecation.length > 500) {
        throw invalidField("deprecation", "wrong-type", "deprecation is a text");
      }
      await change(request, principal, { deprecation });
      return reply.code(204).send();
    },
  );

  fastify.delete<{ Params: VersionParams }>(
    "/providers/:namespace/:type/:version",
    {
      schema: describeRoute({
        tags,
        summary: "Withdraw a version",
        description: "It is offered no more; its number stays taken by the same archives.",
        response: { 204: Type.Null(), ...failures },
      }),
    },
    async (request, reply) => {
      const principal = await recognise(request, await readSmallBody(request));
      await change(request, principal, { withdrawn: true });
      return reply.code(204).send();
    },
  );

  async function change(
    request: FastifyRequest<{ Params: VersionParams }>,
    principal: Principal,
    what: { readonly withdrawn?: true; readonly deprecation?: string },
  ): Promise<void> {
    requireRole(principal, "publisher");
    const { namespace, type, version } = request.params;
    const owner = await findNamespace(registry, namespace);
    if (owner?.account !== principal.account) throw new RegistryError("REGISTRY_NOT_FOUND");
    const key = {
      origin: "published",
      account: principal.account,
      name: `${namespace}/${type}/${version}`,
    } as const;
    await changeRelease(registry, region, key, what, requestContext(request, principal));
  }
}
