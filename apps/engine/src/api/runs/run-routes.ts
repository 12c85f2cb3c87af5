import type { IdempotencyRecord } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { memberPlace, RUN_KIND, type RunReference, runPlace } from "../../domain/run-places.ts";
import { isServerError, ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { cancelRun } from "../../queue/cancel.ts";
import { approveRun, discardRun } from "../../queue/decide.ts";
import { enqueueRun } from "../../queue/enqueue.ts";
import { idOf } from "../../queue/transaction.ts";
import {
  type ApiParts,
  Digest,
  etagOf,
  RunParams,
  routeSchema,
  StackParams,
  stackOf,
} from "../api-parts.ts";
import { requireApiRole } from "../api-roles.ts";
import { findReplay, idempotencyOf } from "../idempotency.ts";
import { MODE_OF, RunModes, RunSchema, runViewOf } from "./run-view.ts";

const NewRun = Type.Object(
  {
    configuration: Digest,
    mode: Type.Optional(RunModes),
    message: Type.Optional(Type.String({ maxLength: 1024 })),
    auto_apply: Type.Optional(Type.Boolean()),
    targets: Type.Optional(Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 100 })),
    replace: Type.Optional(Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 100 })),
  },
  { additionalProperties: false },
);
const NewApproval = Type.Object(
  { plan_digest: Digest, comment: Type.Optional(Type.String({ maxLength: 1024 })) },
  { additionalProperties: false },
);
const Reason = Type.Object(
  { reason: Type.Optional(Type.String({ maxLength: 1024 })) },
  { additionalProperties: false },
);
const Cancel = Type.Object(
  { force: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
);
const Page = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
    after: Type.Optional(Type.String({ maxLength: 256 })),
  },
  { additionalProperties: false },
);
const RUNS = "/projects/:project/stacks/:stack/runs";
const ENDED = "the phase of the run does not allow this";

type InRun = { Params: Static<typeof RunParams> };

/** `/projects/{project}/stacks/{stack}/runs` */
export function runRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, blobs, token, principalOf } = parts;

  const referenceOf = async (
    request: FastifyRequest<{ Params: Static<typeof RunParams> }>,
  ): Promise<RunReference> => {
    const { reference } = await stackOf(parts, principalOf(request), request.params);
    return { stack: reference, run: request.params.run };
  };
  const readRun = async (reference: RunReference) => {
    const found = await readStored(storage, "strong", idOf(RUN_KIND, runPlace(reference)));
    if (found === undefined) throw new ServerError("not_found", `there is no run ${reference.run}`);
    return { run: decodeRecord(RUN_KIND, found), etag: etagOf(found.version) };
  };

  fastify.post<{ Params: Static<typeof StackParams>; Body: Static<typeof NewRun> }>(
    RUNS,
    {
      schema: routeSchema(
        "Request a run",
        "CreateRun",
        { 201: RunSchema },
        { params: StackParams, body: NewRun },
        {
          409: "a request with this key is in progress",
          422: "the configuration is unknown",
          429: "the queue is full",
        },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { reference: stack, name } = await stackOf(parts, principal, request.params);
      const {
        configuration,
        mode = "apply",
        message,
        auto_apply: autoApply,
        targets,
        replace,
      } = request.body;
      const reference = { stack, run: token() };
      const base = request.raw.url?.split("?", 1)[0] ?? "";
      const location = `${base}/${reference.run}`;
      const idempotency = idempotencyOf(request, principal, parts.clock, (run) => ({
        status: 201,
        location,
        body: JSON.stringify(runViewOf(run)),
      }));
      const known = idempotency && (await findReplay(parts, idempotency));
      if (known !== undefined) return replay(reply, known);
      try {
        const run = await enqueueRun(parts, {
          reference,
          stackName: name,
          configuration,
          mode: MODE_OF[mode],
          actor: principal.actor,
          ...(message !== undefined && { message }),
          ...(autoApply !== undefined && { autoApply }),
          ...(targets !== undefined && { targets }),
          ...(replace !== undefined && { replace }),
          ...(idempotency !== undefined && { idempotency }),
        });
        return await reply.code(201).header("location", location).send(runViewOf(run));
      } catch (error) {
        // Another request with the key was faster: its answer is the answer.
        const other =
          isServerError(error, "in_progress") && idempotency !== undefined
            ? await findReplay(parts, idempotency)
            : undefined;
        if (other === undefined) throw error;
        return replay(reply, other);
      }
    },
  );

  fastify.get<{ Params: Static<typeof StackParams>; Querystring: Static<typeof Page> }>(
    RUNS,
    {
      schema: routeSchema(
        "List the runs of a stack, the oldest first",
        "ListRuns",
        { 200: Type.Object({ runs: Type.Array(RunSchema), next: Type.Optional(Type.String()) }) },
        { params: StackParams, querystring: Page },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const { limit = 50, after } = request.query;
      const { tenancy, name } = memberPlace(reference, "");
      const found = (await storage.list("strong", RUN_KIND.type, tenancy, name))
        .toSorted((a, b) => (a.id.name < b.id.name ? -1 : 1))
        .filter(({ id }) => after === undefined || id.name > `${name}${cursorOf(after)}`);
      const runs = found.slice(0, limit).map((one) => runViewOf(decodeRecord(RUN_KIND, one)));
      const last = runs.at(-1);
      if (found.length <= limit || last === undefined) return { runs };
      const next = Buffer.from(last.id).toString("base64url");
      const url = `${request.raw.url?.split("?", 1)[0] ?? ""}?limit=${limit}&after=${next}`;
      reply.header("link", `<${url}>; rel="next"`);
      return { runs, next };
    },
  );

  fastify.get<InRun>(
    `${RUNS}/:run`,
    {
      schema: routeSchema("Show a run", "ShowRun", { 200: RunSchema }, { params: RunParams }),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { run, etag } = await readRun(await referenceOf(request));
      reply.header("etag", etag);
      if (request.headers["if-none-match"] === etag) return reply.code(304).send();
      return runViewOf(run);
    },
  );

  fastify.get<InRun>(
    `${RUNS}/:run/plan`,
    {
      schema: routeSchema(
        "Show the plan of a run, without sensitive values",
        "ShowPlan",
        { 200: Type.Object({}, { additionalProperties: true }) },
        { params: RunParams },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const reference = await referenceOf(request);
      const { run } = await readRun(reference);
      const id = idOf(SERVER_KINDS.summary, runPlace(reference));
      const found = await readStored(storage, "strong", id);
      const summary = found && decodeRecord(SERVER_KINDS.summary, found);
      if (summary === undefined || summary.planDigest !== run.planDigest) {
        throw new ServerError("not_found", `the run ${run.id} has no plan`);
      }
      const chunks: Uint8Array[] = [];
      for await (const chunk of blobs.read(summary.documentSha256)) chunks.push(chunk);
      reply.serializer((text) => text as string);
      return reply.type("application/json").send(Buffer.concat(chunks).toString("utf8"));
    },
  );

  fastify.post<InRun & { Body: Static<typeof NewApproval> }>(
    `${RUNS}/:run/approvals`,
    {
      schema: routeSchema(
        "Approve the plan that was shown",
        "ApproveRun",
        { 201: RunSchema },
        { params: RunParams, body: NewApproval },
        { 409: "the run has another plan, or does not wait for approval" },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const reference = await referenceOf(request);
      const { plan_digest: planDigest, comment = "" } = request.body;
      const { actor } = principalOf(request);
      await approveRun(parts, reference, { actor, planDigest, comment });
      return reply.code(201).send(runViewOf((await readRun(reference)).run));
    },
  );

  fastify.post<InRun & { Body: Static<typeof Reason> }>(
    `${RUNS}/:run/discard`,
    {
      schema: routeSchema(
        "Discard the plan of a run",
        "DiscardRun",
        { 200: RunSchema },
        { params: RunParams, body: Reason },
        { 409: ENDED },
      ),
      config: { access: "operator" },
    },
    async (request) => {
      const reference = await referenceOf(request);
      const { actor } = principalOf(request);
      await discardRun(parts, reference, { actor, reason: request.body.reason ?? "" });
      return runViewOf((await readRun(reference)).run);
    },
  );

  fastify.post<InRun & { Body: Static<typeof Cancel> }>(
    `${RUNS}/:run/cancel`,
    {
      schema: routeSchema(
        "Cancel a run; with force at once, which needs the role admin",
        "CancelRun",
        { 200: RunSchema, 202: RunSchema },
        { params: RunParams, body: Cancel },
        { 409: ENDED },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const reference = await referenceOf(request);
      const principal = principalOf(request);
      const { actor } = principal;
      const { force = false } = request.body;
      if (force) requireApiRole(principal, "admin");
      const outcome = await cancelRun(parts, reference, { actor, force });
      const { run } = await readRun(reference);
      return reply.code(outcome === "canceled" ? 200 : 202).send(runViewOf(run));
    },
  );
}

function cursorOf(after: string): string {
  const text = Buffer.from(after, "base64url").toString("utf8");
  if (/^[0-9A-Za-z_.-]{1,128}$/.test(text)) return text;
  throw new ServerError("invalid_request", "the cursor is not valid");
}

function replay(reply: FastifyReply, { status, body, location }: IdempotencyRecord): FastifyReply {
  reply.serializer((text) => text as string);
  return reply
    .code(status)
    .headers({ location, "idempotency-replayed": "true" })
    .type("application/json")
    .send(body);
}
