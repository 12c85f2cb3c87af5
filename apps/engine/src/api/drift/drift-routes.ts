import { StackDrift } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { isAppliedReaction, nextChecks } from "../../domain/drift-rule.ts";
import { projectPlace, requiresApproval } from "../../domain/project-settings.ts";
import { decodeRecord } from "../../domain/record-kind.ts";
import { stackPlace } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { checkDrift } from "../../drift/fire-drift-checks.ts";
import type { StackStatus } from "../../live/stack-status.ts";
import { endIgnore, ignoreDrift } from "../../queue/drift-ignores.ts";
import { readDrift } from "../../queue/drift-record.ts";
import { idOf, transact } from "../../queue/transaction.ts";
import { type ApiParts, ProjectName, routeSchema, StackParams, stackOf } from "../api-parts.ts";
import { hasApiRole } from "../api-roles.ts";
import { seesStack } from "../authorize.ts";
import { RunSchema, runViewOf } from "../runs/run-view.ts";
import { StatusDrift, statusDriftOf } from "../watch/status-view.ts";
import { synced } from "../watch/synced.ts";
import { visibleTo } from "../watch/topic.ts";
import {
  DriftIgnoreView,
  DriftRuleSettings,
  DriftView,
  driftRuleFrom,
  driftViewOf,
  ignoreViewOf,
  NewDriftIgnore,
  NewDriftIgnores,
} from "./drift-view.ts";

const DRIFT = "/projects/:project/stacks/:stack/drift";
/** Drifted stacks of one answer. */
const MAX_LISTED = 1_000;

const IgnoreParams = Type.Object({
  ...StackParams.properties,
  ignore: Type.String({ pattern: "^[0-9A-Z]{26}$" }),
});

type InStack = { Params: Static<typeof StackParams> };

const Query = Type.Object(
  {
    project: Type.Optional(ProjectName),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LISTED })),
  },
  { additionalProperties: false },
);
const DriftedStack = Type.Object(
  { project: Type.String(), stack: Type.String(), drift: StatusDrift },
  { title: "DriftedStack" },
);

/** `/projects/{project}/stacks/{stack}/drift`, and `/drift` over all stacks. */
export function driftRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, live, clock, principalOf, stopping } = parts;

  fastify.get<{ Querystring: Static<typeof Query> }>(
    "/drift",
    {
      schema: routeSchema(
        "List the stacks with drift that the caller may see, those with the most of it first",
        "ListDrift",
        {
          200: Type.Object({
            stacks: Type.Array(DriftedStack),
            total: Type.Integer({ description: "stacks with drift" }),
            checked: Type.Integer({ description: "stacks that were checked" }),
            ignored: Type.Integer({
              description: "objects of these stacks that differ and are ignored",
            }),
          }),
        },
        { querystring: Query },
      ),
      config: { access: "viewer", limitsStacks: true },
    },
    async (request) => {
      const principal = principalOf(request);
      const { project, limit = 100 } = request.query;
      await synced(live.stackChanges, clock, stopping);
      const isVisible = visibleTo(principal);
      const meant = (statuses: readonly StackStatus[]) =>
        statuses.flatMap((status) => {
          const { drift } = status;
          const isMeant =
            drift !== undefined &&
            isVisible(status) &&
            seesStack(principal, status.project, status.name) &&
            (project === undefined || status.project === project);
          return isMeant ? [{ project: status.project, stack: status.name, drift }] : [];
        });
      const checked = meant(live.stacks.list());
      const found = meant(live.drifted.list());
      return {
        stacks: found.slice(0, limit).map((one) => ({ ...one, drift: statusDriftOf(one.drift) })),
        total: found.length,
        checked: checked.length,
        ignored: checked.reduce((sum, { drift }) => sum + drift.ignored, 0),
      };
    },
  );

  fastify.get<InStack>(
    DRIFT,
    {
      schema: routeSchema(
        "Show the drift of a stack, and when it is checked",
        "ShowDrift",
        { 200: DriftView },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const [found, project] = await Promise.all([
        readStored(storage, "strong", idOf(SERVER_KINDS.drift, stackPlace(reference))),
        readStored(storage, "strong", idOf(SERVER_KINDS.project, projectPlace(reference))),
      ]);
      return driftViewOf(
        found === undefined ? StackDrift.create() : decodeRecord(SERVER_KINDS.drift, found),
        project && decodeRecord(SERVER_KINDS.project, project),
      );
    },
  );

  fastify.put<InStack & { Body: Static<typeof DriftRuleSettings> }>(
    DRIFT,
    {
      schema: routeSchema(
        "Give a stack a rule of its own by which it is checked for drift",
        "SetDriftRule",
        { 200: DriftView },
        { params: StackParams, body: DriftRuleSettings },
        { 422: "the project allows nothing to be applied without an approval" },
      ),
      config: { access: "operator" },
    },
    async (request) => {
      const principal = principalOf(request);
      const { actor } = principal;
      const { reference, name } = await stackOf(parts, principal, request.params);
      const rule = driftRuleFrom(request.body);
      return transact(parts.audited(request), async (tx) => {
        const project = await tx.find(SERVER_KINDS.project, projectPlace(reference));
        if (isAppliedReaction(rule) && project !== undefined && requiresApproval(project.message)) {
          throw new ServerError(
            "unprocessable",
            `plans of the project ${reference.project} are applied after an approval only; use the reaction "plan"`,
          );
        }
        const row = await readDrift(tx, reference, name);
        const next = nextChecks(rule, reference.stack, tx.nowMs);
        tx.update(row, { stackName: name, rule, actor, ...next });
        return driftViewOf(row.message, project?.message);
      });
    },
  );

  fastify.delete<InStack>(
    DRIFT,
    {
      schema: routeSchema(
        "Take the rule of a stack away: that of its project counts again",
        "DeleteDriftRule",
        { 204: Type.Null() },
        { params: StackParams },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      await transact(parts.audited(request), async (tx) => {
        const row = await tx.find(SERVER_KINDS.drift, stackPlace(reference));
        if (row?.message.rule === undefined) {
          throw new ServerError("not_found", "the stack has no rule of its own");
        }
        tx.update(row, { rule: undefined, actor: "", nextAtMs: 0n, partNextAtMs: [] });
      });
      return reply.code(204).send();
    },
  );

  fastify.post<InStack>(
    `${DRIFT}/check`,
    {
      schema: routeSchema(
        "Check a stack for drift now; a check that has not ended is shown instead. The reaction of the rule follows where the caller may apply",
        "CheckDrift",
        { 201: RunSchema },
        { params: StackParams },
        { 422: "nothing was applied to the stack by this server yet" },
      ),
      config: { access: "planner" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { actor } = principal;
      const { reference, name } = await stackOf(parts, principal, request.params);
      const mayApply = hasApiRole(principal, "operator");
      const checked = { stack: reference, stackName: name, actor, mayApply };
      const run = await checkDrift(parts.audited(request), checked);
      return reply.code(201).send(runViewOf(run));
    },
  );

  fastify.post<InStack & { Body: Static<typeof NewDriftIgnore> }>(
    `${DRIFT}/ignores`,
    {
      schema: routeSchema(
        "Ignore the drift of an object or of one of its attributes until a time; a former ignore of the same is replaced",
        "IgnoreDrift",
        { 201: DriftIgnoreView },
        { params: StackParams, body: NewDriftIgnore },
        { 422: "the stack ignores as much as it may" },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { reference, name } = await stackOf(parts, principal, request.params);
      const { address, attribute = "", reason, expires_in_seconds: seconds } = request.body;
      const made = await ignoreDrift(
        parts.audited(request),
        { stack: reference, stackName: name },
        [{ address, attribute }],
        { reason, actor: principal.actor, forMs: seconds * 1_000 },
      );
      const [ignore] = made.map(ignoreViewOf);
      return reply.code(201).send(ignore);
    },
  );

  fastify.post<InStack & { Body: Static<typeof NewDriftIgnores> }>(
    `${DRIFT}/ignores/several`,
    {
      schema: routeSchema(
        "Ignore several differences for one reason and until one time, all of them or none",
        "IgnoreDriftOfSeveral",
        { 201: Type.Object({ ignores: Type.Array(DriftIgnoreView) }) },
        { params: StackParams, body: NewDriftIgnores },
        { 422: "the stack would ignore more than it may" },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { reference, name } = await stackOf(parts, principal, request.params);
      const { differences, reason, expires_in_seconds: seconds } = request.body;
      const made = await ignoreDrift(
        parts.audited(request),
        { stack: reference, stackName: name },
        differences.map(({ address, attribute = "" }) => ({ address, attribute })),
        { reason, actor: principal.actor, forMs: seconds * 1_000 },
      );
      return reply.code(201).send({ ignores: made.map(ignoreViewOf) });
    },
  );

  fastify.delete<{ Params: Static<typeof IgnoreParams> }>(
    `${DRIFT}/ignores/:ignore`,
    {
      schema: routeSchema(
        "Ignore the drift of an object or an attribute no more: it counts again at once",
        "HeedDrift",
        { 204: Type.Null() },
        { params: IgnoreParams },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      await endIgnore(parts.audited(request), reference, request.params.ignore);
      return reply.code(204).send();
    },
  );
}
