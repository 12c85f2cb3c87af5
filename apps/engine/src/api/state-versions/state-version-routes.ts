import { Readable } from "node:stream";
import type { StateVersion } from "@stackwright/proto/stackwright";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { restoreStateVersion } from "../../terraform-state/restore-version.ts";
import { readStateContent } from "../../terraform-state/state-content.ts";
import {
  findKeptState,
  findStateVersion,
  listStateVersions,
} from "../../terraform-state/state-versions.ts";
import { uploadSignal } from "../../timed-upload.ts";
import {
  type ApiParts,
  ProjectName,
  routeSchema,
  StackNameSchema,
  StackParams,
  stackOf,
} from "../api-parts.ts";

const VersionParams = Type.Object({
  project: ProjectName,
  stack: StackNameSchema,
  version: Type.String({ pattern: "^[1-9][0-9]{0,13}$" }),
});

const VersionView = Type.Object(
  {
    version: Type.Integer(),
    current: Type.Boolean(),
    serial: Type.String({ description: "a whole number below 2^64" }),
    lineage: Type.String(),
    terraform_version: Type.String(),
    bytes: Type.Integer(),
    md5: Type.String({ description: "of the bytes, in hexadecimal" }),
    actor: Type.String(),
    created_at: Type.String(),
    operation: Type.Optional(Type.String()),
    who: Type.Optional(Type.String()),
    restored_from: Type.Optional(Type.Integer()),
    lineage_changed: Type.Optional(Type.Boolean()),
  },
  { title: "StateVersion" },
);

const ALL = "/projects/:project/stacks/:stack/state-versions";
const ONE = `${ALL}/:version`;

type InStack = { Params: Static<typeof StackParams> };
type OfVersion = { Params: Static<typeof VersionParams> };

/** `/projects/{project}/stacks/{stack}/state-versions`: the states that terraform and tofu commands have stored. */
export function stateVersionRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  const missing = (version: string): ServerError =>
    new ServerError("not_found", `the stack has no state version ${version}`);
  const find = async (request: FastifyRequest<OfVersion>) => {
    const { version } = request.params;
    const { reference } = await stackOf(parts, principalOf(request), request.params);
    const found = await findStateVersion(storage, reference, BigInt(version));
    if (found === undefined) throw missing(version);
    return { reference, found };
  };

  fastify.get<InStack>(
    ALL,
    {
      schema: routeSchema(
        "List the state versions that terraform and tofu commands have stored, the newest first",
        "ListStateVersions",
        { 200: Type.Object({ state_versions: Type.Array(VersionView) }) },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const [kept, versions] = await Promise.all([
        findKeptState(storage, reference),
        listStateVersions(storage, reference),
      ]);
      return { state_versions: versions.map((one) => viewOf(one, kept?.current)) };
    },
  );

  fastify.get<OfVersion>(
    ONE,
    {
      schema: routeSchema(
        "Show a state version, without its content",
        "ShowStateVersion",
        { 200: VersionView },
        { params: VersionParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference, found } = await find(request);
      return viewOf(found, (await findKeptState(storage, reference))?.current);
    },
  );

  fastify.get<OfVersion>(
    `${ONE}/content`,
    {
      schema: routeSchema(
        "Download a state version: the very bytes that were stored, with secrets in the clear",
        "DownloadStateVersion",
        { 200: Type.String({ format: "binary" }) },
        { params: VersionParams, produces: ["application/octet-stream"] },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const { reference, found } = await find(request);
      reply.headers({
        "content-type": "application/octet-stream",
        "content-length": Number(found.bytes),
        "content-md5": Buffer.from(found.md5, "hex").toString("base64"),
      });
      const content = readStateContent(parts, reference, found);
      return reply.send(Readable.from(content, { objectMode: false }));
    },
  );

  fastify.post<OfVersion>(
    `${ONE}/restore`,
    {
      schema: routeSchema(
        "Restore a state version: a new version with its content and the next serial",
        "RestoreStateVersion",
        { 201: VersionView },
        { params: VersionParams },
        { 409: "the stack is locked, or run by the engine", 412: "it changed meanwhile" },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const { version } = request.params;
      const principal = principalOf(request);
      const stack = await stackOf(parts, principal, request.params);
      const restored = await restoreStateVersion(parts.audited(request), {
        stack,
        version: BigInt(version),
        actor: principal.actor,
        signal: uploadSignal(request.raw),
      });
      return reply.code(201).send(viewOf(restored, restored.number));
    },
  );
}

function viewOf(one: StateVersion, current: bigint | undefined): Static<typeof VersionView> {
  return {
    version: Number(one.number),
    current: one.number === current,
    serial: String(one.serial),
    lineage: one.lineage,
    terraform_version: one.terraformVersion,
    bytes: Number(one.bytes),
    md5: one.md5,
    actor: one.actor,
    created_at: new Date(Number(one.createdAtMs)).toISOString(),
    ...(one.operation !== "" && { operation: one.operation }),
    ...(one.who !== "" && { who: one.who }),
    ...(one.restoredFrom !== 0n && { restored_from: Number(one.restoredFrom) }),
    ...(one.lineageChanged && { lineage_changed: true }),
  };
}
