import type { PlanSet } from "@stackwright/proto/stackwright";
import type { Principal } from "@stackwright/registry";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { MODE_OF } from "../../domain/run-modes.ts";
import { projectTenancy, RUN_KIND, runPlace } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { PlanRenderer } from "../../plan-rendering/plan-renderer.ts";
import { advancePlanSet } from "../../plan-set/advance-plan-set.ts";
import { createPlanSet } from "../../plan-set/create-plan-set.ts";
import { approvePlanSet, cancelPlanSet, discardPlanSet } from "../../plan-set/decide-plan-set.ts";
import {
  type PlanSetReference,
  placeOfSet,
  runOfMember,
} from "../../plan-set/plan-set-reference.ts";
import { inOrder } from "../../plan-set/set-order.ts";
import { idOf } from "../../queue/transaction.ts";
import {
  type ApiParts,
  checkProjectName,
  Digest,
  etagOf,
  ProjectName,
  ProjectParams,
  routeSchema,
  stackOf,
} from "../api-parts.ts";
import { requireApiRole } from "../api-roles.ts";
import { callerGone } from "../end-of-request.ts";
import { nextPage, PageQuery, pageOf } from "../list-page.ts";
import { type MemberFacts, NewPlanSet, PlanSetView, planSetViewOf } from "./plan-set-view.ts";
import { readPlanView } from "./plan-view.ts";

const SETS = "/projects/:project/plan-sets";

const SetParams = Type.Object({
  project: ProjectName,
  plan_set: Type.String({ pattern: "^[0-9A-Za-z_.-]{1,128}$" }),
});
const NewSetApproval = Type.Object(
  { digest: Digest, comment: Type.Optional(Type.String({ maxLength: 1024 })) },
  { additionalProperties: false, title: "NewPlanSetApproval" },
);
const Reason = Type.Object(
  { reason: Type.Optional(Type.String({ maxLength: 1024 })) },
  { additionalProperties: false },
);
const Nothing = Type.Object({}, { additionalProperties: false });
const Form = Type.Object(
  {
    form: Type.Union([Type.Literal("text"), Type.Literal("markdown"), Type.Literal("html")]),
  },
  { additionalProperties: false },
);
const CONTENT_TYPES = {
  text: "text/plain; charset=utf-8",
  markdown: "text/markdown; charset=utf-8",
  html: "text/html; charset=utf-8",
} as const;
const ENDED = "the phase of the plan set does not allow this";

type InProject = { Params: Static<typeof ProjectParams> };
type InSet = { Params: Static<typeof SetParams> };

/** `/projects/{project}/plan-sets`: stacks that are planned together, each with the planned outputs of the others, and approved at once. */
export function planSetRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  const renderer = new PlanRenderer({ clock: parts.clock });

  const referenceOf = (request: FastifyRequest<InSet>): PlanSetReference => {
    const { project, plan_set: set } = request.params;
    checkProjectName(project);
    return { project: { account: principalOf(request).account, project }, set };
  };
  const readSet = async (reference: PlanSetReference) => {
    const id = idOf(SERVER_KINDS.planSet, placeOfSet(reference));
    const found = await readStored(storage, "strong", id);
    if (found === undefined) {
      throw new ServerError("not_found", `there is no plan set ${reference.set}`);
    }
    return { set: decodeRecord(SERVER_KINDS.planSet, found), version: found.version };
  };
  const viewOf = async (reference: PlanSetReference, set: PlanSet) => {
    const facts = new Map<string, MemberFacts>();
    for (const member of set.members) {
      const place = runPlace(runOfMember(reference, member));
      const [run, summary] = await Promise.all([
        readStored(storage, "strong", idOf(RUN_KIND, place)),
        readStored(storage, "strong", idOf(SERVER_KINDS.summary, place)),
      ]);
      facts.set(member.run, {
        run: run && decodeRecord(RUN_KIND, run),
        summary: summary && decodeRecord(SERVER_KINDS.summary, summary),
      });
    }
    return planSetViewOf(set, (run) => facts.get(run));
  };
  /** A set after a change: its runs have followed it as far as they can by now. */
  const changed = async (reference: PlanSetReference) => {
    await advancePlanSet(parts, reference);
    return viewOf(reference, (await readSet(reference)).set);
  };

  fastify.post<InProject & { Body: Static<typeof NewPlanSet> }>(
    SETS,
    {
      schema: routeSchema(
        "Plan stacks together, each with the planned outputs of the others that it reads",
        "CreatePlanSet",
        { 201: PlanSetView },
        { params: ProjectParams, body: NewPlanSet },
        {
          409: "a stack is in another plan set, or a request with this key is in progress",
          422: "a configuration is unknown, or another tool plans one of the stacks",
        },
      ),
      config: { access: "planner", once: "answered" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { project } = request.params;
      const { stacks, mode = "apply", message = "" } = request.body;
      if (mode !== "plan_only") requireApiRole(principal, "operator");
      const members = await membersOf(parts, principal, project, stacks);
      const reference = { project: { account: principal.account, project }, set: parts.token() };
      const location = `/api/v1/projects/${project}/plan-sets/${reference.set}`;
      await createPlanSet(parts.audited(request), {
        reference,
        members,
        mode: MODE_OF[mode],
        actor: principal.actor,
        message,
        onMade: (set) => {
          const body = JSON.stringify(planSetViewOf(set));
          parts.answerWithChange(request, { status: 201, location, body });
        },
      });
      return reply
        .code(201)
        .header("location", location)
        .send(await changed(reference));
    },
  );

  fastify.get<InProject & { Querystring: Static<typeof PageQuery> }>(
    SETS,
    {
      schema: routeSchema(
        "List the plan sets of a project, the newest first",
        "ListPlanSets",
        {
          200: Type.Object({
            plan_sets: Type.Array(PlanSetView),
            next: Type.Optional(Type.String()),
          }),
        },
        { params: ProjectParams, querystring: PageQuery },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { account } = principalOf(request);
      const { project } = request.params;
      checkProjectName(project);
      const { limit, after } = pageOf(request.query);
      const tenancy = projectTenancy({ account, project });
      // They go with their runs, which retention bounds.
      const all = await storage.list("strong", SERVER_KINDS.planSet.type, tenancy, "");
      const behind = all
        .toSorted((left, right) => (left.id.name < right.id.name ? 1 : -1))
        .filter(({ id }) => after === "" || id.name < after);
      const shown = behind.slice(0, limit);
      const views: Static<typeof PlanSetView>[] = [];
      for (const one of shown) {
        const set = decodeRecord(SERVER_KINDS.planSet, one);
        views.push(await viewOf({ project: { account, project }, set: set.id }, set));
      }
      const last = views.at(-1);
      if (behind.length <= limit || last === undefined) return { plan_sets: views };
      return { plan_sets: views, next: nextPage(request, reply, limit, last.id) };
    },
  );

  fastify.get<InSet>(
    `${SETS}/:plan_set`,
    {
      schema: routeSchema(
        "Show a plan set with the runs of its stacks",
        "ShowPlanSet",
        { 200: PlanSetView },
        { params: SetParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const reference = referenceOf(request);
      return viewOf(reference, (await readSet(reference)).set);
    },
  );

  fastify.get<InSet & { Querystring: Static<typeof Form> }>(
    `${SETS}/:plan_set/rendered`,
    {
      schema: routeSchema(
        "Show the plans of a set, in the order in which they are applied, as text, Markdown or HTML",
        "RenderPlanSet",
        { 200: Type.String() },
        {
          params: SetParams,
          querystring: Form,
          produces: ["text/plain", "text/markdown", "text/html"],
        },
        { 422: "one of the plans has no view, or is too large to be rendered" },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { form } = request.query;
      const reference = referenceOf(request);
      const { set } = await readSet(reference);
      const signal = callerGone(reply);
      const texts: string[] = [];
      for (const member of inOrder(set)) {
        const view = await readPlanView(parts, runOfMember(reference, member), member.stackName);
        if (view === undefined) continue;
        const title = `${request.params.project}/${member.stackName}`;
        const text = await renderer.render(view, { form, title }, signal);
        texts.push(form === "text" ? `Stack ${title}\n\n${text}` : text);
      }
      return reply
        .headers({
          // A fragment for other pages: nothing in it may run or load, wherever it is opened.
          "content-security-policy": "default-src 'none'; sandbox",
          "x-content-type-options": "nosniff",
          etag: etagOf(set.digest),
        })
        .type(CONTENT_TYPES[form])
        .send(texts.join("\n"));
    },
  );

  fastify.post<InSet & { Body: Static<typeof NewSetApproval> }>(
    `${SETS}/:plan_set/approvals`,
    {
      schema: routeSchema(
        "Approve all plans of a set, by the digest that was shown",
        "ApprovePlanSet",
        { 201: PlanSetView },
        { params: SetParams, body: NewSetApproval },
        {
          409: "the set has other plans, or does not wait for approval",
          410: "the time for the approval is over",
        },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const reference = referenceOf(request);
      const { actor } = principalOf(request);
      await approvePlanSet(parts.audited(request), reference, { actor, ...request.body });
      return reply.code(201).send(await changed(reference));
    },
  );

  fastify.post<InSet & { Body: Static<typeof Reason> }>(
    `${SETS}/:plan_set/discard`,
    {
      schema: routeSchema(
        "Discard the plans of a set",
        "DiscardPlanSet",
        { 200: PlanSetView },
        { params: SetParams, body: Reason },
        { 409: ENDED },
      ),
      config: { access: "operator" },
    },
    async (request) => {
      const reference = referenceOf(request);
      const { actor } = principalOf(request);
      await discardPlanSet(parts.audited(request), reference, { actor, ...request.body });
      return changed(reference);
    },
  );

  fastify.post<InSet & { Body: Static<typeof Nothing> }>(
    `${SETS}/:plan_set/cancel`,
    {
      schema: routeSchema(
        "Cancel a plan set: nothing more of it begins, and what is planned or applied is canceled",
        "CancelPlanSet",
        { 200: PlanSetView },
        { params: SetParams, body: Nothing },
        { 409: ENDED },
      ),
      config: { access: "operator" },
    },
    async (request) => {
      const reference = referenceOf(request);
      const { actor } = principalOf(request);
      await cancelPlanSet(parts.audited(request), reference, { actor });
      return changed(reference);
    },
  );
}

/** The stacks of a request by their names; `invalid_request` where one is named twice. */
async function membersOf(
  parts: ApiParts,
  principal: Principal,
  project: string,
  given: Static<typeof NewPlanSet>["stacks"],
) {
  const members = [];
  const seen = new Set<string>();
  for (const { stack, configuration } of given) {
    if (seen.has(stack)) {
      throw new ServerError("invalid_request", `the stack ${stack} is named twice`);
    }
    seen.add(stack);
    const { reference, name } = await stackOf(parts, principal, { project, stack });
    members.push({ stack: reference, name, configuration });
  }
  return members;
}
