import { buffer } from "node:stream/consumers";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import type { ModuleDocumentation } from "../../modules/module-documentation.ts";
import { moduleNameText } from "../../modules/module-name.ts";
import {
  accountModules,
  moduleVersion,
  moduleVersions,
  withdrawModule,
} from "../../modules/module-versions.ts";
import { publishModule } from "../../modules/publish-module.ts";
import { uploadSignal } from "../../timed-upload.ts";
import { AccountPlaces } from "../account-places.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import {
  ModuleDocumentationView,
  ModuleParams,
  ModuleVersionParams,
  moduleOf,
  PublishedModuleView,
  PublishedVersionView,
  PublishQuery,
  publishedModuleViewOf,
  publishedVersionViewOf,
  WithdrawQuery,
} from "./module-view.ts";

const MODULES = "/registry/modules";
const MODULE = `${MODULES}/:namespace/:name/:system`;
const VERSION = `${MODULE}/:version`;
const TYPES = new Set(["application/gzip", "application/x-gzip", "application/octet-stream"]);

type OfVersion = { Params: Static<typeof ModuleVersionParams> };

/** `/registry/modules`: the private modules of the account. They are published and withdrawn here, and installed by `modules.v1`. */
export function moduleRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, blobs, principalOf } = parts;
  // Each upload is unpacked and parsed.
  const places = new AccountPlaces({ all: 4, account: 2 });

  fastify.get(
    MODULES,
    {
      schema: routeSchema("List the private modules of the account", "ListModules", {
        200: Type.Object({ modules: Type.Array(PublishedModuleView) }, { title: "Modules" }),
      }),
      config: { access: "viewer" },
    },
    async (request) => {
      const found = await accountModules(storage, principalOf(request).account);
      return { modules: found.map(publishedModuleViewOf) };
    },
  );

  fastify.get<{ Params: Static<typeof ModuleParams> }>(
    MODULE,
    {
      schema: routeSchema(
        "Show a private module with all of its versions",
        "ShowModule",
        { 200: PublishedModuleView },
        { params: ModuleParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const module = moduleOf(request.params);
      const versions = await moduleVersions(storage, principalOf(request).account, module);
      if (versions.length > 0) return publishedModuleViewOf({ module, versions });
      throw new ServerError("not_found", `there is no module "${moduleNameText(module)}"`);
    },
  );

  fastify.get<OfVersion>(
    VERSION,
    {
      schema: routeSchema(
        "Show what a version of a module takes and gives",
        "ShowModuleVersion",
        { 200: ModuleDocumentationView },
        { params: ModuleVersionParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { version } = request.params;
      const { account } = principalOf(request);
      const found = await moduleVersion(parts, account, moduleOf(request.params), version);
      const { documentationSha256: sha256 } = found;
      const document = sha256 === "" ? "[]" : await buffer(blobs.read(sha256));
      const modules = JSON.parse(document.toString()) as ModuleDocumentation;
      return { version: publishedVersionViewOf(found), modules };
    },
  );

  fastify.put<OfVersion & { Querystring: Static<typeof PublishQuery> }>(
    VERSION,
    {
      schema: routeSchema(
        "Publish a version of a module as a gzip-compressed tar archive",
        "PublishModule",
        { 200: PublishedVersionView, 201: PublishedVersionView },
        {
          params: ModuleVersionParams,
          querystring: PublishQuery,
          "x-body": "application/gzip",
        },
        {
          409: "the version has other files",
          413: "too large",
          415: "not gzip",
          422: "the archive or the module in it is not valid",
        },
      ),
      config: { access: "publisher", upload: true },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      requireAllProjects(parts, request);
      const [type = ""] = (request.headers["content-type"] ?? "").split(";");
      if (!TYPES.has(type)) {
        throw new ServerError(
          "unsupported_media_type",
          "a module is a gzip-compressed tar archive: application/gzip",
        );
      }
      const module = moduleOf(request.params);
      const { source = "", commit = "" } = request.query;
      using _place = places.take(principal.account);
      const { version, isNew } = await publishModule(parts.audited(request), {
        account: principal.account,
        module,
        version: request.params.version,
        actor: principal.actor,
        source,
        commit,
        content: parts.uploadOf(request),
        signal: uploadSignal(request.raw),
      });
      return await reply.code(isNew ? 201 : 200).send(publishedVersionViewOf(version));
    },
  );

  fastify.delete<OfVersion & { Querystring: Static<typeof WithdrawQuery> }>(
    VERSION,
    {
      schema: routeSchema(
        "Withdraw a version of a module: it is offered no longer, and its number stays taken",
        "WithdrawModule",
        { 200: PublishedVersionView },
        { params: ModuleVersionParams, querystring: WithdrawQuery },
      ),
      config: { access: "publisher" },
    },
    async (request) => {
      const principal = principalOf(request);
      requireAllProjects(parts, request);
      const module = moduleOf(request.params);
      const { reason = "" } = request.query;
      const version = await withdrawModule(parts.audited(request), principal.account, module, {
        version: request.params.version,
        reason,
      });
      return publishedVersionViewOf(version);
    },
  );
}

/** Modules are for all projects of an account, so that a credential for some of them changes none. */
function requireAllProjects({ principalOf }: ApiParts, request: FastifyRequest): void {
  if (principalOf(request).projects.length === 0) return;
  throw new ServerError(
    "forbidden",
    "modules belong to the whole account, and the credential is for some of its projects",
  );
}
