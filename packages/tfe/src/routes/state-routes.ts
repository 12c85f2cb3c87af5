import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { TfeError } from "../errors.ts";
import { type Document, one, page, type ResourceObject } from "../json-api/document.ts";
import type { TfeCaller } from "../port/caller.ts";
import type { AnnouncedState, StateKey, TfeStateVersion } from "../port/state-port.ts";
import { readOutputs, type StateOutput } from "../state-outputs.ts";
import { workspaceId } from "../workspace-id.ts";
import {
  addressOf,
  callerOf,
  documentOf,
  type RouteContext,
  requireOperator,
  send,
  signedTarget,
  uploadSignal,
  workspaceOf,
} from "./route-context.ts";

type Query = Readonly<Record<string, unknown>>;
type ById = { Params: { readonly workspace: string } };
type OfVersion = { Params: { readonly version: string } };
type OfOutput = { Params: { readonly output: string } };
type Signed = { Params: { readonly signed: string } };

/** How long a command has for an upload or a download. */
const ADDRESS_MS = 15 * 60_000;
/** Seconds between the states that a command stores while it applies. */
const SNAPSHOT_SECONDS = "20";
/** Bytes of a state of which single outputs are read. */
const OUTPUTS_BYTES = 64 * 1024 ** 2;

/** What the address of an upload is for. */
interface UploadTarget {
  readonly kind: "state";
  readonly account: string;
  readonly actor: string;
  readonly workspace: string;
  readonly serial: string;
  readonly md5: string;
  readonly force: boolean;
  readonly lock: string;
}

/** What the address of a download is for. */
interface DownloadTarget {
  readonly kind: "state-content";
  readonly account: string;
  readonly actor: string;
  readonly workspace: string;
  readonly serial: string;
  readonly md5: string;
}

/** States of workspaces: those that commands keep here, and those of stacks that the server runs. */
export function stateRoutes(fastify: FastifyInstance, context: RouteContext): void {
  const { states } = context.port;

  /** Who reads a state reads its secrets. */
  const readerOf = (request: FastifyRequest): TfeCaller => {
    const caller = callerOf(context, request);
    requireOperator(caller);
    return caller;
  };

  const resourceOf = async (
    request: FastifyRequest,
    workspace: string,
    version: TfeStateVersion,
  ): Promise<ResourceObject> => {
    const { account, actor } = callerOf(context, request);
    const { md5 } = version;
    const serial = String(version.serial);
    const target: DownloadTarget = {
      kind: "state-content",
      account,
      actor,
      workspace,
      serial,
      md5,
    };
    const download = await addressOf(context, request, "state-content", target, ADDRESS_MS);
    return {
      id: versionId(workspace, version),
      type: "state-versions",
      attributes: {
        serial: Number(version.serial),
        md5,
        lineage: version.lineage,
        size: version.bytes,
        status: "finalized",
        "resources-processed": true,
        "state-version": 4,
        "terraform-version": version.terraformVersion,
        "created-at": new Date(version.createdAtMs).toISOString(),
        "hosted-state-download-url": download,
      },
      relationships: { workspace: { data: { id: workspaceId(workspace), type: "workspaces" } } },
    };
  };

  fastify.get<ById>("/workspaces/:workspace/current-state-version", async (request, reply) => {
    const caller = readerOf(request);
    const { id } = await workspaceOf(context, request);
    const current = await states.current(caller, id);
    if (current === undefined) throw new TfeError("TFE_NOT_FOUND");
    reply.header("x-terraform-snapshot-interval", SNAPSHOT_SECONDS);
    return send(reply, one(await resourceOf(request, id, current)));
  });

  fastify.post<ById>("/workspaces/:workspace/state-versions", async (request, reply) => {
    const caller = readerOf(request);
    const { id: workspace } = await workspaceOf(context, request);
    const document = await documentOf(context, request);
    const serial = document.wholeNumber("serial");
    const md5 = document.text("md5", 32);
    if (serial === undefined) throw missing("serial");
    if (md5 === undefined || !/^[0-9a-f]{32}$/.test(md5)) throw missing("md5");
    const force = document.flag("force") ?? false;
    const state: AnnouncedState = { workspace, serial, md5, force };
    const lock = await states.announce(caller, state);
    const { account, actor } = caller;
    const kept = { account, actor, workspace, serial: String(serial), md5, force, lock };
    const target: UploadTarget = { kind: "state", ...kept };
    const upload = await addressOf(context, request, "state-upload", target, ADDRESS_MS);
    const json = await addressOf(
      context,
      request,
      "json-state-upload",
      { ...target, kind: "json-state" },
      ADDRESS_MS,
    );
    reply.header("x-terraform-snapshot-interval", SNAPSHOT_SECONDS);
    return send(
      reply,
      one({
        id: versionId(workspace, { serial, md5 }),
        type: "state-versions",
        attributes: {
          serial: Number(serial),
          md5,
          lineage: document.text("lineage") ?? "",
          status: "pending",
          "resources-processed": false,
          "created-at": new Date(context.port.wallMs()).toISOString(),
          "hosted-state-upload-url": upload,
          "hosted-json-state-upload-url": json,
        },
        relationships: { workspace: { data: { id: workspaceId(workspace), type: "workspaces" } } },
      }),
      201,
    );
  });

  fastify.put<Signed>(
    "/state-upload/:signed",
    { config: { open: true, upload: true } },
    async (request, reply) => {
      const { target, signer } = await uploadTarget(context, request, "state");
      const { workspace, md5, force, lock } = target;
      const state = { workspace, serial: BigInt(target.serial), md5, force, lock };
      const content = request.raw as AsyncIterable<Uint8Array>;
      await states.store(signer, state, content, uploadSignal(request));
      return reply.code(200).send();
    },
  );
  // The form that describes outputs and resources, which is made from the state itself here.
  fastify.put<Signed>(
    "/json-state-upload/:signed",
    { config: { open: true, upload: true } },
    async (request, reply) => {
      const { signer } = await uploadTarget(context, request, "json-state");
      const content = request.raw as AsyncIterable<Uint8Array>;
      await states.skip(signer, content, uploadSignal(request));
      return reply.code(200).send();
    },
  );

  fastify.get<Signed>(
    "/state-content/:signed",
    { config: { open: true } },
    async (request, reply) => {
      const { target, signer } = await signedTarget<DownloadTarget>(context, request);
      if (target.kind !== "state-content") throw new TfeError("TFE_FORBIDDEN");
      const { workspace, serial, md5 } = target;
      const key = { serial: BigInt(serial), md5 };
      const found = await states.read(signer, workspace, key);
      if (found === undefined) throw new TfeError("TFE_NOT_FOUND");
      return reply
        .headers({ "content-type": "application/json", "content-length": found.bytes })
        .send(Readable.from(found.content, { objectMode: false }));
    },
  );

  fastify.get<{ Querystring: Query }>("/state-versions", async (request, reply) => {
    const caller = readerOf(request);
    const { query } = request;
    if (query["filter[organization][name]"] !== caller.account) throw new TfeError("TFE_NOT_FOUND");
    const name = query["filter[workspace][name]"];
    const workspace =
      typeof name === "string" ? await context.port.workspaces.find(caller, name) : undefined;
    if (workspace === undefined) throw new TfeError("TFE_NOT_FOUND");
    const { id } = workspace;
    const all = await states.list(caller, id);
    const resources = await Promise.all(all.map(async (each) => resourceOf(request, id, each)));
    return send(
      reply,
      page(resources, query, (resource) => resource),
    );
  });

  const versionOf = async (request: FastifyRequest<OfVersion>, caller: TfeCaller) => {
    const { workspace, key } = parseVersionId(request.params.version);
    const found = await states.find(caller, workspace, key);
    if (found === undefined) throw new TfeError("TFE_NOT_FOUND");
    return { workspace, found };
  };
  fastify.get<OfVersion>("/state-versions/:version", async (request, reply) => {
    const { workspace, found } = await versionOf(request, readerOf(request));
    return send(reply, one(await resourceOf(request, workspace, found)));
  });

  /** The outputs of a state; sensitive values are left out of lists. */
  const outputsOf = async (
    caller: TfeCaller,
    workspace: string,
    version: TfeStateVersion,
  ): Promise<readonly StateOutput[]> => {
    if (version.bytes > OUTPUTS_BYTES) {
      throw new TfeError("TFE_UNPROCESSABLE", "the state is too large for single outputs; pull it");
    }
    const read = await states.read(caller, workspace, version);
    if (read === undefined) throw new TfeError("TFE_NOT_FOUND");
    const chunks: Uint8Array[] = [];
    for await (const chunk of read.content) chunks.push(chunk);
    return readOutputs(Buffer.concat(chunks).toString("utf8"));
  };
  const outputList = async (
    caller: TfeCaller,
    workspace: string,
    version: TfeStateVersion | undefined,
    query: Query,
  ): Promise<Document> => {
    const outputs = version === undefined ? [] : await outputsOf(caller, workspace, version);
    const shown = version === undefined ? "" : versionId(workspace, version);
    return page(outputs, query, (output) => outputResource(shown, output, false));
  };
  fastify.get<ById & { Querystring: Query }>(
    "/workspaces/:workspace/current-state-version-outputs",
    async (request, reply) => {
      const caller = callerOf(context, request);
      const { id } = await workspaceOf(context, request);
      const current = await states.current(caller, id);
      return send(reply, await outputList(caller, id, current, request.query));
    },
  );
  fastify.get<OfVersion & { Querystring: Query }>(
    "/state-versions/:version/outputs",
    async (request, reply) => {
      const caller = callerOf(context, request);
      const { workspace, found } = await versionOf(request, caller);
      return send(reply, await outputList(caller, workspace, found, request.query));
    },
  );
  fastify.get<OfOutput>("/state-version-outputs/:output", async (request, reply) => {
    const caller = callerOf(context, request);
    const [, version = "", encoded = ""] =
      /^wsout-(.+)\.([\w-]+)$/.exec(request.params.output) ?? [];
    const { workspace, key } = parseVersionId(version);
    const found = await states.find(caller, workspace, key);
    const outputs = found === undefined ? [] : await outputsOf(caller, workspace, found);
    const name = Buffer.from(encoded, "base64url").toString("utf8");
    const output = outputs.find((each) => each.name === name);
    if (output === undefined) throw new TfeError("TFE_NOT_FOUND");
    if (output.sensitive) requireOperator(caller);
    return send(reply, one(outputResource(version, output, true)));
  });
}

/** An output is named by the state that has it. */
function outputResource(
  version: string,
  { name, sensitive, value, type }: StateOutput,
  withSecret: boolean,
): ResourceObject {
  return {
    id: `wsout-${version}.${Buffer.from(name).toString("base64url")}`,
    type: "state-version-outputs",
    attributes: {
      name,
      sensitive,
      type: kindOf(type),
      value: sensitive && !withSecret ? null : value,
      "detailed-type": type,
    },
  };
}

/** The kind of a type, whose JSON form is a name or a list that begins with one. */
function kindOf(type: unknown): string {
  const name = Array.isArray(type) ? (type[0] as unknown) : type;
  if (name === "list" || name === "set" || name === "tuple") return "array";
  if (name === "map" || name === "object") return "map";
  return name === "bool" ? "boolean" : String(name);
}

function versionId(workspace: string, { serial, md5 }: StateKey): string {
  return `sv-${workspace}-${serial}-${md5}`;
}

function parseVersionId(id: string): { readonly workspace: string; readonly key: StateKey } {
  const [, workspace, serial, md5] =
    /^sv-([0-9A-Za-z]+)-([0-9]{1,20})-([0-9a-f]{32})$/.exec(id) ?? [];
  if (workspace === undefined || serial === undefined || md5 === undefined) {
    throw new TfeError("TFE_NOT_FOUND");
  }
  return { workspace, key: { serial: BigInt(serial), md5 } };
}

async function uploadTarget(
  context: RouteContext,
  request: FastifyRequest<Signed>,
  kind: "state" | "json-state",
): Promise<{ readonly target: Omit<UploadTarget, "kind">; readonly signer: TfeCaller }> {
  type AnyUpload = Omit<UploadTarget, "kind"> & { readonly kind: string };
  const signed = await signedTarget<AnyUpload>(context, request);
  if (signed.target.kind !== kind) throw new TfeError("TFE_FORBIDDEN");
  return signed;
}

/** Never with "state" as the last word: commands would fall back to an older form of the upload. */
function missing(name: string): TfeError {
  return new TfeError("TFE_UNPROCESSABLE", `param is missing or the value is empty: ${name}`);
}
