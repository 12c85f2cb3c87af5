import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { TfeError } from "../errors.ts";
import { one, page, type ResourceObject } from "../json-api/document.ts";
import type { RequestDocument } from "../json-api/request-document.ts";
import type { TfeCaller } from "../port/caller.ts";
import type { NewTfeRun, RunPort, TfeLogName, TfeRun } from "../port/run-port.ts";
import type { TfeWorkspace } from "../port/workspace-port.ts";
import { logSlice } from "./log-slice.ts";
import { policyCheckRoutes } from "./policy-check-routes.ts";
import { rendersStructured } from "./renders-structured.ts";
import {
  addressOf,
  bodyOf,
  callerOf,
  documentOf,
  memberOf,
  type RouteContext,
  requireOperator,
  send,
  signedTarget,
  uploadSignal,
  workspaceById,
  workspaceOf,
} from "./route-context.ts";
import { applyId, countsOf, planId, runResource } from "./run-resource.ts";
import { applyStatus, followedStatus, planStatus } from "./run-status.ts";
import { workspaceResource } from "./workspace-resource.ts";

type Query = Readonly<Record<string, unknown>>;
type ById = { Params: { readonly workspace: string }; Querystring: Query };
type OfRun = { Params: { readonly run: string }; Querystring: Query };
type Signed = { Params: { readonly signed: string }; Querystring: Query };

const UPLOAD_MS = 15 * 60_000;
const LOG_MS = 24 * 3_600_000;
const LOG_BYTES = 65_536;
const MAX_ADDRESSES = 100;
const MAX_VARIABLES = 1_000;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_-]{0,127}$/;

interface UploadTarget {
  readonly kind: "configuration";
  readonly account: string;
  readonly actor: string;
  readonly workspace: string;
  readonly id: string;
  readonly speculative: boolean;
  /** Absent in those of an older release. */
  readonly root?: string;
}

interface LogTarget {
  readonly kind: "log";
  readonly account: string;
  readonly actor: string;
  readonly workspace: string;
  readonly run: string;
  readonly name: TfeLogName;
  /** Absent in those of an older release, whose logs are text. */
  readonly structured?: boolean;
}

/** The root module of an upload whose address does not say it, as servers of an older release made it: that of the workspace by now. */
async function rootOf(
  { port }: RouteContext,
  signer: TfeCaller,
  { workspace }: Pick<UploadTarget, "workspace">,
): Promise<string> {
  const found = await port.workspaces.get(signer, workspace);
  if (found === undefined) throw new TfeError("TFE_NOT_FOUND");
  return found.workingDirectory;
}

/** Runs that the server executes: configuration versions, runs, plans, applies, their logs, and variables of workspaces. */
export function runRoutes(fastify: FastifyInstance, context: RouteContext, runs: RunPort): void {
  const operatorOf = (request: FastifyRequest): TfeCaller => {
    const caller = callerOf(context, request);
    requireOperator(caller);
    return caller;
  };

  fastify.post<ById>("/workspaces/:workspace/configuration-versions", async (request, reply) => {
    const { account, actor } = operatorOf(request);
    const { id: workspace, workingDirectory: root } = await workspaceOf(context, request);
    const speculative = (await documentOf(context, request)).flag("speculative") ?? false;
    const id = runs.announceUpload();
    const target: UploadTarget = {
      kind: "configuration",
      account,
      actor,
      workspace,
      id,
      speculative,
      root,
    };
    const address = await addressOf(context, request, "configuration-upload", target, UPLOAD_MS);
    return send(reply, one(uploadResource(workspace, id, "pending", speculative, address)), 201);
  });

  fastify.put<Signed>(
    "/configuration-upload/:signed",
    { config: { open: true, upload: true } },
    async (request, reply) => {
      const { target, signer } = await signedTarget<UploadTarget>(context, request);
      if (target.kind !== "configuration") throw new TfeError("TFE_FORBIDDEN");
      const content = request.raw as AsyncIterable<Uint8Array>;
      const root = target.root ?? (await rootOf(context, signer, target));
      await runs.storeUpload(signer, { ...target, root }, content, uploadSignal(request));
      return reply.code(200).send();
    },
  );

  fastify.get<{ Params: { readonly upload: string } }>(
    "/configuration-versions/:upload",
    async (request, reply) => {
      const { workspace, id } = idsOf("cv", request.params.upload);
      await workspaceById(context, request, `ws-${workspace}`);
      const found = await runs.upload(callerOf(context, request), workspace, id);
      const status = found === undefined ? "pending" : "uploaded";
      return send(reply, one(uploadResource(workspace, id, status, found?.speculative ?? false)));
    },
  );

  const resourcesOf = async (request: FastifyRequest, run: TfeRun, include: unknown) => {
    const wanted = new Set(typeof include === "string" ? include.split(",") : []);
    const included: ResourceObject[] = [];
    if (wanted.has("workspace")) {
      const workspace = await workspaceById(context, request, `ws-${run.workspace}`);
      const structured = rendersStructured(request) && run.structuredOutput;
      included.push(workspaceResource(callerOf(context, request), workspace, { structured }));
    }
    if (wanted.has("plan")) included.push(await planResource(request, run));
    if (wanted.has("apply")) included.push(await applyResource(request, run));
    return one(runResource(callerOf(context, request), run), included);
  };
  const logAddress = async (
    request: FastifyRequest,
    { workspace, id, structuredOutput }: TfeRun,
    name: TfeLogName,
  ): Promise<string> => {
    const { account, actor } = callerOf(context, request);
    const structured = rendersStructured(request) && structuredOutput;
    const target: LogTarget = { kind: "log", account, actor, workspace, run: id, name, structured };
    return addressOf(context, request, "logs", target, LOG_MS);
  };
  const planResource = async (
    request: FastifyRequest,
    run: TfeRun,
    status = planStatus(run),
  ): Promise<ResourceObject> => ({
    id: planId(run),
    type: "plans",
    attributes: {
      status,
      "has-changes": run.hasPlan,
      "generated-configuration": false,
      "log-read-url": await logAddress(request, run, "plan"),
      ...countsOf(run),
    },
  });
  const applyResource = async (
    request: FastifyRequest,
    run: TfeRun,
    status = applyStatus(run),
  ): Promise<ResourceObject> => ({
    id: applyId(run),
    type: "applies",
    attributes: {
      status,
      "log-read-url": await logAddress(request, run, "apply"),
      ...countsOf(run),
    },
  });
  const runOf = async (request: FastifyRequest, kind: string, given: string): Promise<TfeRun> => {
    const { workspace, id } = idsOf(kind, given);
    await workspaceById(context, request, `ws-${workspace}`);
    const found = await runs.get(callerOf(context, request), workspace, id);
    if (found === undefined) throw new TfeError("TFE_NOT_FOUND");
    return found;
  };

  fastify.post<{ Querystring: Query }>("/runs", async (request, reply) => {
    const caller = operatorOf(request);
    const document = await documentOf(context, request);
    const workspace = await workspaceById(context, request, document.relation("workspace") ?? "");
    const run = await runs.create(caller, await newRunOf(runs, caller, workspace, document));
    return send(reply, await resourcesOf(request, run, "workspace"), 201);
  });

  fastify.get<OfRun>("/runs/:run", async (request, reply) => {
    const run = await runOf(request, "run", request.params.run);
    return send(reply, await resourcesOf(request, run, request.query["include"]));
  });

  fastify.get<OfRun>("/runs/:run/run-events", async (request, reply) => {
    await runOf(request, "run", request.params.run);
    return send(
      reply,
      page<ResourceObject>([], {}, (event) => event),
    );
  });

  fastify.get<ById>("/workspaces/:workspace/runs", async (request, reply) => {
    const caller = callerOf(context, request);
    const { id } = await workspaceOf(context, request);
    const wanted = operationsOf(request.query["filter[operation]"]);
    const all = await runs.list(caller, id);
    return send(
      reply,
      page(
        all.filter((run) => wanted.has(operationOf(run))),
        request.query,
        (run) => runResource(caller, run),
      ),
    );
  });

  policyCheckRoutes(fastify, {
    runs,
    callerOf: (request) => callerOf(context, request),
    runOf: async (request, id) => runOf(request, "polchk", id),
  });

  const act = (
    action: string,
    perform: (caller: TfeCaller, run: TfeRun, comment: string) => Promise<void>,
  ): void => {
    fastify.post<OfRun>(`/runs/:run/actions/${action}`, async (request, reply) => {
      const caller = operatorOf(request);
      const run = await runOf(request, "run", request.params.run);
      await perform(caller, run, commentOf(await bodyOf(context, request)));
      return reply.code(202).send();
    });
  };
  act("apply", async (caller, run, comment) => runs.approve(caller, run, comment));
  act("discard", async (caller, run, comment) => runs.discard(caller, run, comment));
  act("cancel", async (caller, run) => runs.cancel(caller, run, { force: false }));
  act("force-cancel", async (caller, run) => {
    if (!run.isCanceling) throw new TfeError("TFE_CONFLICT", "the run was not canceled before");
    await runs.cancel(caller, run, { force: true });
  });

  fastify.get<{ Params: { readonly plan: string } }>("/plans/:plan", async (request, reply) => {
    const run = await runOf(request, "plan", request.params.plan);
    const status = followedStatus(planStatus(run), run, "plan");
    return send(reply, one(await planResource(request, run, status)));
  });
  for (const form of ["document", "rendered"] as const) {
    const path = form === "document" ? "json-output" : "json-output-redacted";
    fastify.get<{ Params: { readonly plan: string } }>(
      `/plans/:plan/${path}`,
      async (request, reply) => {
        const run = await runOf(request, "plan", request.params.plan);
        if (["pending", "running"].includes(planStatus(run))) return reply.code(204).send();
        const caller = callerOf(context, request);
        // It has the values of the state. Commands explain this answer as a lack of permissions.
        if (!caller.isOperator) throw new TfeError("TFE_NOT_FOUND");
        const text = await runs.planJson(caller, run, form);
        if (text === undefined) throw new TfeError("TFE_NOT_FOUND", "the plan is not stored");
        return reply.type("application/json").send(text);
      },
    );
  }
  fastify.get<{ Params: { readonly apply: string } }>("/applies/:apply", async (request, reply) => {
    const run = await runOf(request, "apply", request.params.apply);
    const status = followedStatus(applyStatus(run), run, "apply");
    return send(reply, one(await applyResource(request, run, status)));
  });

  fastify.get<Signed>("/logs/:signed", { config: { open: true } }, async (request, reply) => {
    const { target, signer } = await signedTarget<LogTarget>(context, request, { inTurn: true });
    if (target.kind !== "log") throw new TfeError("TFE_FORBIDDEN");
    const { workspace, run, name, structured = false } = target;
    const wanted = { workspace, run, name, structured };
    const open = async (offset: number) => runs.log(signer, { ...wanted, offset });
    const slice = await logSlice(open, {
      offset: numberOf(request.query["offset"], 0),
      limit: Math.min(LOG_BYTES, numberOf(request.query["limit"], LOG_BYTES)),
    });
    reply.type("text/plain; charset=utf-8").header("content-length", slice.byteLength);
    return reply.send(Readable.from(behindHead(reply.raw, slice), { objectMode: false }));
  });

  type InOrganization = { Params: { readonly organization: string } };
  fastify.get<InOrganization>("/organizations/:organization/runs/queue", async (request, reply) => {
    memberOf(context, request);
    return send(
      reply,
      page<ResourceObject>([], {}, (run) => run),
    );
  });
  fastify.get<InOrganization>("/organizations/:organization/capacity", async (request, reply) => {
    const { account: id } = memberOf(context, request);
    const attributes = { pending: 0, running: 0 };
    return send(reply, one({ id, type: "organization-capacity", attributes }));
  });
}

/** Kinds of runs, as lists are filtered by them. */
const OPERATIONS = ["plan_only", "plan_and_apply", "save_plan", "refresh_only", "destroy"] as const;

function operationOf({ planOnly, savedPlan, mode }: TfeRun): (typeof OPERATIONS)[number] {
  if (planOnly) return "plan_only";
  if (savedPlan) return "save_plan";
  if (mode === "normal") return "plan_and_apply";
  return mode === "destroy" ? "destroy" : "refresh_only";
}

/** Runs that only plan are not in a list unless it asks for them: commands take each run in it for one that theirs waits for. */
function operationsOf(filter: unknown): ReadonlySet<string> {
  if (typeof filter === "string" && filter !== "") return new Set(filter.split(","));
  return new Set(OPERATIONS.filter((name) => name !== "plan_only"));
}

/** What a request says about a run. `TFE_UNPROCESSABLE` for what is not supported. */
async function newRunOf(
  runs: RunPort,
  caller: TfeCaller,
  workspace: TfeWorkspace,
  document: RequestDocument,
): Promise<NewTfeRun> {
  const { workspace: owner, id } = idsOf("cv", document.relation("configuration-version") ?? "");
  if (owner !== workspace.id) {
    throw new TfeError(
      "TFE_UNPROCESSABLE",
      "the configuration version is not one of the workspace",
    );
  }
  const upload = await runs.upload(caller, workspace.id, id);
  if (upload === undefined) {
    throw new TfeError("TFE_UNPROCESSABLE", "the configuration version was not uploaded");
  }
  const savedPlan = document.flag("save-plan") ?? false;
  const planOnly = upload.speculative || (document.flag("plan-only") ?? false);
  if (savedPlan && planOnly) {
    throw new TfeError("TFE_UNPROCESSABLE", "a speculative plan cannot be saved");
  }
  if (document.flag("allow-config-generation") === true) {
    throw new TfeError(
      "TFE_UNPROCESSABLE",
      "not supported by this server: generated configuration",
    );
  }
  const isDestroy = document.flag("is-destroy") ?? false;
  const refreshOnly = document.flag("refresh-only") ?? false;
  if (isDestroy && refreshOnly) {
    throw new TfeError("TFE_UNPROCESSABLE", "a run destroys or refreshes, not both");
  }
  const replace = document.texts("replace-addrs", MAX_ADDRESSES);
  if (replace.length > 0 && (isDestroy || refreshOnly)) {
    const mode = isDestroy ? "destroys" : "only refreshes";
    throw new TfeError("TFE_UNPROCESSABLE", `a run that ${mode} replaces nothing: "replace-addrs"`);
  }
  return {
    workspace: workspace.id,
    upload: id,
    mode: isDestroy ? "destroy" : refreshOnly ? "refresh-only" : "normal",
    planOnly,
    savedPlan,
    autoApply: savedPlan || planOnly ? false : (document.flag("auto-apply") ?? workspace.autoApply),
    refresh: document.flag("refresh") ?? true,
    targets: document.texts("target-addrs", MAX_ADDRESSES),
    replace,
    variables: valuesOf(document),
    message: document.text("message") ?? "",
  };
}

function valuesOf(document: RequestDocument): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  const given = document.objects("variables", MAX_VARIABLES);
  for (const { key, value } of given) {
    if (typeof key !== "string" || !VARIABLE.test(key) || typeof value !== "string") {
      throw new TfeError("TFE_UNPROCESSABLE", '"variables" has to have names and texts');
    }
    values[key] = value;
  }
  return values;
}

/** Actions have a body of their own form, or none. */
function commentOf(body: Uint8Array): string {
  if (body.byteLength === 0) return "";
  try {
    const { comment } = JSON.parse(Buffer.from(body).toString("utf8")) as { comment?: unknown };
    return typeof comment === "string" ? comment.slice(0, 1_024) : "";
  } catch {
    throw new TfeError("TFE_INVALID_REQUEST", "the request body is not a JSON object");
  }
}

function uploadResource(
  workspace: string,
  id: string,
  status: "pending" | "uploaded",
  speculative: boolean,
  address?: string,
): ResourceObject {
  return {
    id: `cv-${workspace}-${id}`,
    type: "configuration-versions",
    attributes: {
      status,
      source: "tfe-api",
      speculative,
      provisional: false,
      error: null,
      "error-message": null,
      "auto-queue-runs": false,
      ...(address !== undefined && { "upload-url": address }),
    },
  };
}

/**
 * A body that is sent behind the head of its answer, not with it. Commands take of each answer what one read of the connection gives;
 * with the head in it that is less than 4 KiB, and a long log thousands of requests.
 */
async function* behindHead(raw: ServerResponse, body: Buffer): AsyncGenerator<Buffer> {
  raw.flushHeaders();
  await setImmediate();
  if (body.byteLength > 0) yield body;
}

/** `run-WORKSPACE-RUN`. */
function idsOf(kind: string, id: string): { readonly workspace: string; readonly id: string } {
  const [, found, workspace, rest] =
    /^([a-z]+)-([0-9A-Za-z]+)-([0-9A-Za-z_.-]{1,128})$/.exec(id) ?? [];
  if (found !== kind || workspace === undefined || rest === undefined) {
    throw new TfeError("TFE_NOT_FOUND");
  }
  return { workspace, id: rest };
}

function numberOf(text: unknown, otherwise: number): number {
  return typeof text === "string" && /^[0-9]{1,12}$/.test(text) ? Number(text) : otherwise;
}
