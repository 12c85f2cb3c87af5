import { isEnded } from "@stackwright/core";
import type { Run } from "@stackwright/proto/stackwright";
import { listBehind, readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { MODE_OF } from "../../domain/run-modes.ts";
import {
  memberPlace,
  RUN_KIND,
  type RunReference,
  runPlace,
  ticketPlace,
} from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { advanceSetOf } from "../../plan-set/advance-open-sets.ts";
import { cancelRun } from "../../queue/cancel.ts";
import { approveRun, discardRun } from "../../queue/decide.ts";
import { overrideFreeze } from "../../queue/freeze.ts";
import { phaseOf } from "../../queue/run-row.ts";
import { type NotedStuck, notedAsStuck } from "../../queue/stuck-steps.ts";
import { idOf } from "../../queue/transaction.ts";
import { placeOfRun } from "../../span/trace-context.ts";
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
import { nextPage, PageQuery, pageOf } from "../list-page.ts";
import { checkReplacements } from "./check-replacements.ts";
import { requestRun, requireRetry } from "./request-run.ts";
import { requestedImports } from "./requested-imports.ts";
import { RunImportSchema, RunModes, RunSchema, runViewOf } from "./run-view.ts";

const NewRun = Type.Object(
  {
    configuration: Digest,
    mode: Type.Optional(RunModes),
    message: Type.Optional(Type.String({ maxLength: 1024 })),
    auto_apply: Type.Optional(Type.Boolean()),
    staged: Type.Optional(
      Type.Boolean({
        description:
          "leaves to further runs what cannot be planned before this one is applied; for the mode apply",
      }),
    ),
    targets: Type.Optional(Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 100 })),
    replace: Type.Optional(
      Type.Array(Type.String({ maxLength: 1024 }), {
        maxItems: 100,
        description: "objects to replace; for the modes apply and plan_only",
      }),
    ),
    source: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description:
          "what a run of the mode plan_only plans, such as a branch: it ends the older ones of its author that wait",
      }),
    ),
    imports: Type.Optional(
      Type.Array(RunImportSchema, { maxItems: 100, description: "for the mode import" }),
    ),
  },
  { additionalProperties: false, title: "NewRun" },
);
const NewApproval = Type.Object(
  { plan_digest: Digest, comment: Type.Optional(Type.String({ maxLength: 1024 })) },
  { additionalProperties: false, title: "NewApproval" },
);
const OverrideReason = Type.Object(
  { reason: Type.String({ minLength: 1, maxLength: 1024 }) },
  { additionalProperties: false, title: "FreezeOverrideReason" },
);
const Reason = Type.Object(
  { reason: Type.Optional(Type.String({ maxLength: 1024 })) },
  { additionalProperties: false },
);
const Cancel = Type.Object(
  { force: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
);
const Retry = Type.Object(
  {
    message: Type.Optional(Type.String({ maxLength: 1024 })),
    auto_apply: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
const RunsQuery = Type.Object(
  {
    ...PageQuery.properties,
    order: Type.Optional(
      Type.Union([Type.Literal("oldest"), Type.Literal("newest")], {
        description: "which runs come first; oldest by default",
      }),
    ),
  },
  { additionalProperties: false },
);
const RUNS = "/projects/:project/stacks/:stack/runs";
const ENDED = "the phase of the run does not allow this";

type InRun = { Params: Static<typeof RunParams> };

/** `/projects/{project}/stacks/{stack}/runs` */
export function runRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;

  const referenceOf = async (
    request: FastifyRequest<{ Params: Static<typeof RunParams> }>,
  ): Promise<RunReference> => {
    const { reference } = await stackOf(parts, principalOf(request), request.params);
    return { stack: reference, run: request.params.run };
  };
  const readRun = async (reference: RunReference) => {
    const found = await readStored(storage, "strong", idOf(RUN_KIND, runPlace(reference)));
    if (found === undefined) throw new ServerError("not_found", `there is no run ${reference.run}`);
    const run = decodeRecord(RUN_KIND, found);
    // A request about a run links to its trace.
    parts.traces?.work?.link(placeOfRun(run));
    return { run, etag: etagOf(found.version) };
  };

  const stuckOf = async (reference: RunReference, run: Run): Promise<NotedStuck | undefined> => {
    if (isEnded(phaseOf(run))) return undefined;
    const id = idOf(SERVER_KINDS.ticket, ticketPlace(reference));
    const ticket = await readStored(storage, "strong", id);
    return ticket && notedAsStuck(decodeRecord(SERVER_KINDS.ticket, ticket));
  };

  /** Retention bounds the runs of a stack, so that all of them can be read for one page. */
  const listNewest = async (
    tenancy: ReturnType<typeof memberPlace>["tenancy"],
    prefix: string,
    { limit, after }: ReturnType<typeof pageOf>,
  ) => {
    const all = await storage.list("strong", RUN_KIND.type, tenancy, prefix);
    const behind = all
      .toSorted((left, right) => (left.id.name < right.id.name ? 1 : -1))
      .filter(({ id }) => after === "" || id.name < `${prefix}${after}`);
    return { resources: behind.slice(0, limit), hasMore: behind.length > limit };
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
          422: "the configuration is unknown, or options do not go with the mode",
          429: "the queue is full",
        },
      ),
      config: { access: "planner", once: "answered" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const named = await stackOf(parts, principal, request.params);
      if (request.body.mode !== "plan_only") requireApiRole(principal, "operator");
      const { mode = "apply", auto_apply: autoApply, staged = false, ...options } = request.body;
      if (options.replace !== undefined) checkReplacements(mode, options.replace);
      return requestRun(parts, request, reply, named, {
        ...options,
        ...requestedImports(mode, { ...options, staged }),
        mode: MODE_OF[mode],
        ...(staged && { stage: {} }),
        ...(autoApply !== undefined && { autoApply }),
      });
    },
  );

  fastify.get<{ Params: Static<typeof StackParams>; Querystring: Static<typeof RunsQuery> }>(
    RUNS,
    {
      schema: routeSchema(
        "List the runs of a stack, the oldest or the newest first",
        "ListRuns",
        { 200: Type.Object({ runs: Type.Array(RunSchema), next: Type.Optional(Type.String()) }) },
        { params: StackParams, querystring: RunsQuery },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const { limit, after } = pageOf(request.query);
      const { tenancy, name } = memberPlace(reference, "");
      const isNewestFirst = request.query.order === "newest";
      const { resources, hasMore } = isNewestFirst
        ? await listNewest(tenancy, name, { limit, after })
        : await listBehind(storage, RUN_KIND.type, tenancy, name, {
            limit,
            after: `${name}${after}`,
          });
      const runs = resources.map((one) => runViewOf(decodeRecord(RUN_KIND, one)));
      const last = runs.at(-1);
      if (!hasMore || last === undefined) return { runs };
      const next = nextPage(request, reply, limit, last.id, isNewestFirst ? "&order=newest" : "");
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
      const reference = await referenceOf(request);
      const { run, etag: ofRun } = await readRun(reference);
      const stuck = await stuckOf(reference, run);
      // What is noted of its step is no change of the run.
      const etag = stuck === undefined ? ofRun : etagOf(`${ofRun} ${stuck.notedAtMs}`);
      reply.header("etag", etag);
      if (request.headers["if-none-match"] === etag) return reply.code(304).send();
      return runViewOf(run, stuck);
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
        {
          409: "the run has another plan, or does not wait for approval",
          410: "the time for the approval is over",
        },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const reference = await referenceOf(request);
      const { plan_digest: planDigest, comment = "" } = request.body;
      const { actor } = principalOf(request);
      await approveRun(parts.audited(request), reference, { actor, planDigest, comment });
      return reply.code(201).send(runViewOf((await readRun(reference)).run));
    },
  );

  fastify.post<InRun & { Body: Static<typeof Retry> }>(
    `${RUNS}/:run/retry`,
    {
      schema: routeSchema(
        "Request an ended run again, with its configuration and options and a new plan",
        "RetryRun",
        { 201: RunSchema },
        { params: RunParams, body: Retry },
        { 409: ENDED, 422: "the configuration is gone", 429: "the queue is full" },
      ),
      config: { access: "operator", once: "answered" },
    },
    async (request, reply) => {
      const named = await stackOf(parts, principalOf(request), request.params);
      const { run } = await readRun(await referenceOf(request));
      requireRetry(run);
      const { message, auto_apply: given } = request.body;
      // What the project said for the former run it may no longer say.
      const autoApply = given ?? (run.autoApplyRequested ? run.autoApply : undefined);
      return requestRun(parts, request, reply, named, {
        configuration: run.configuration,
        mode: run.mode,
        ...(autoApply !== undefined && { autoApply }),
        targets: run.targets,
        replace: run.replace,
        source: run.source,
        imports: run.imports,
        message: message ?? run.message,
        retryOf: run.id,
        ...(run.stage !== undefined && { stage: {} }),
      });
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
      await discardRun(parts.audited(request), reference, {
        actor,
        reason: request.body.reason ?? "",
      });
      await advanceSetOf(parts, reference);
      return runViewOf((await readRun(reference)).run);
    },
  );

  fastify.post<InRun & { Body: Static<typeof OverrideReason> }>(
    `${RUNS}/:run/freeze-override`,
    {
      schema: routeSchema(
        "Let a run apply although its stack or project is frozen",
        "OverrideFreeze",
        { 200: RunSchema },
        { params: RunParams, body: OverrideReason },
        { 409: ENDED },
      ),
      config: { access: "admin" },
    },
    async (request) => {
      const reference = await referenceOf(request);
      const { actor } = principalOf(request);
      const { reason } = request.body;
      await overrideFreeze(parts.audited(request), reference, { actor, reason });
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
      const outcome = await cancelRun(parts.audited(request), reference, { actor, force });
      await advanceSetOf(parts, reference);
      const { run } = await readRun(reference);
      return reply.code(outcome === "canceled" ? 200 : 202).send(runViewOf(run));
    },
  );
}
