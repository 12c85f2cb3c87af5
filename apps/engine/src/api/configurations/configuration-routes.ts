import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { storeConfiguration } from "../../configuration/store-configuration.ts";
import { ServerError } from "../../domain/server-error.ts";
import { uploadSignal } from "../../timed-upload.ts";
import { repositoryFolder } from "../../vcs/git/repository-path.ts";
import { AccountPlaces } from "../account-places.ts";
import { type ApiParts, routeSchema, StackParams, stackOf } from "../api-parts.ts";

const ConfigurationView = Type.Object(
  {
    digest: Type.String(),
    files: Type.Integer(),
    archive_bytes: Type.Integer(),
    content_bytes: Type.Integer(),
    actor: Type.String(),
    created_at: Type.String(),
  },
  { title: "Configuration" },
);

const UploadQuery = Type.Object({
  root: Type.Optional(
    Type.String({
      // No backslash and no control character: a folder of an archive, as tar has it.
      pattern: String.raw`^[^\\\x00-\x1f\x7f]+$`,
      maxLength: 1_024,
      description: "folder of the root module in the archive; the archive itself by default",
    }),
  ),
});

const TYPES = new Set(["application/gzip", "application/x-gzip", "application/octet-stream"]);

/** `/projects/{project}/stacks/{stack}/configurations`: each upload has a file and an unpacking stream, so that few run at a time. */
export function configurationRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const places = new AccountPlaces({ all: 16, account: 4 });
  fastify.post<{
    Params: Static<typeof StackParams>;
    Querystring: Static<typeof UploadQuery>;
  }>(
    "/projects/:project/stacks/:stack/configurations",
    {
      schema: routeSchema(
        "Upload a configuration as a gzip-compressed tar archive",
        "CreateConfiguration",
        { 200: ConfigurationView, 201: ConfigurationView },
        { params: StackParams, querystring: UploadQuery, "x-body": "application/gzip" },
        { 413: "too large", 415: "not gzip", 422: "the archive is not valid" },
      ),
      config: { access: "planner", upload: true },
    },
    async (request, reply) => {
      const principal = parts.principalOf(request);
      const { reference, name } = await stackOf(parts, principal, request.params);
      const [type = ""] = (request.headers["content-type"] ?? "").split(";");
      if (!TYPES.has(type)) {
        throw new ServerError(
          "unsupported_media_type",
          "a configuration is a gzip-compressed tar archive: application/gzip",
        );
      }
      const root = repositoryFolder(request.query.root ?? "");
      using _place = places.take(principal.account);
      const { version, isNew } = await storeConfiguration(parts, {
        stack: reference,
        stackName: name,
        actor: principal.actor,
        content: parts.uploadOf(request),
        signal: uploadSignal(request.raw),
        root,
      });
      return await reply.code(isNew ? 201 : 200).send({
        digest: version.digest,
        files: version.files,
        archive_bytes: Number(version.archiveBytes),
        content_bytes: Number(version.contentBytes),
        actor: version.actor,
        created_at: new Date(Number(version.createdAtMs)).toISOString(),
      });
    },
  );
}
