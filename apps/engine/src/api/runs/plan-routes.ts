import type { PlanSummary } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { RUN_KIND, runPlace } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { PlanRenderer } from "../../plan-rendering/plan-renderer.ts";
import { idOf } from "../../queue/transaction.ts";
import { type ApiParts, RunParams, routeSchema, stackOf } from "../api-parts.ts";
import { callerGone } from "../end-of-request.ts";

const PLAN = "/projects/:project/stacks/:stack/runs/:run/plan";

const Form = Type.Object(
  {
    form: Type.Union([Type.Literal("text"), Type.Literal("markdown"), Type.Literal("html")], {
      description: "text has the signs of Terraform; markdown is cut to limit_bytes",
    }),
    limit_bytes: Type.Optional(Type.Integer({ minimum: 1000, maximum: 1_000_000 })),
  },
  { additionalProperties: false },
);

const CONTENT_TYPES = {
  text: "text/plain; charset=utf-8",
  markdown: "text/markdown; charset=utf-8",
  html: "text/html; charset=utf-8",
} as const;

type InRun = { Params: Static<typeof RunParams> };

/**
 * `/projects/{project}/stacks/{stack}/runs/{run}/plan`: the plan of a run without sensitive values, as the plan document, as a
 * view, and rendered. All forms are of the plan whose digest the run has.
 */
export function planRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, blobs, clock } = parts;
  const renderer = new PlanRenderer({ clock });

  const summaryOf = async (request: FastifyRequest<InRun>): Promise<PlanSummary> => {
    const { run } = request.params;
    const { reference } = await stackOf(parts, parts.principalOf(request), request.params);
    const place = runPlace({ stack: reference, run });
    const [storedRun, stored] = await Promise.all([
      readStored(storage, "strong", idOf(RUN_KIND, place)),
      readStored(storage, "strong", idOf(SERVER_KINDS.summary, place)),
    ]);
    if (storedRun === undefined)
      throw new ServerError("not_found", `the run ${run} does not exist`);
    const { planDigest } = decodeRecord(RUN_KIND, storedRun);
    const summary = stored && decodeRecord(SERVER_KINDS.summary, stored);
    if (summary === undefined || summary.planDigest !== planDigest) {
      throw new ServerError("not_found", `the run ${run} has no plan`);
    }
    return summary;
  };

  const textOf = async (sha256: string): Promise<string> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of blobs.read(sha256)) chunks.push(chunk);
    return Buffer.concat(chunks).toString("utf8");
  };

  const viewOf = async (request: FastifyRequest<InRun>): Promise<string> => {
    const { viewSha256 } = await summaryOf(request);
    if (viewSha256 === "") {
      throw new ServerError("not_found", "there is no view of the plan; read its document");
    }
    return textOf(viewSha256);
  };

  const sendJson = (reply: FastifyReply, text: string): FastifyReply => {
    reply.serializer((given) => given as string);
    return reply.type("application/json").send(text);
  };

  fastify.get<InRun>(
    PLAN,
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
      const { documentSha256 } = await summaryOf(request);
      return sendJson(reply, await textOf(documentSha256));
    },
  );

  fastify.get<InRun>(
    `${PLAN}/view`,
    {
      schema: routeSchema(
        "Show the plan of a run as a view: differences, causes, risk, groups",
        "ShowPlanView",
        { 200: Type.Object({}, { additionalProperties: true }) },
        { params: RunParams },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => sendJson(reply, await viewOf(request)),
  );

  fastify.get<InRun & { Querystring: Static<typeof Form> }>(
    `${PLAN}/rendered`,
    {
      schema: routeSchema(
        "Show the plan of a run as text, Markdown or HTML",
        "RenderPlan",
        { 200: Type.String() },
        {
          params: RunParams,
          querystring: Form,
          produces: ["text/plain", "text/markdown", "text/html"],
        },
        { 422: "the plan is too large to be rendered" },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { form, limit_bytes: limitBytes } = request.query;
      const signal = callerGone(reply);
      const title = `${request.params.project}/${request.params.stack}`;
      const text = await renderer.render(
        await viewOf(request),
        { form, title, limitBytes },
        signal,
      );
      return reply
        .headers({
          // A fragment for other pages: nothing in it may run or load, wherever it is opened.
          "content-security-policy": "default-src 'none'; sandbox",
          "x-content-type-options": "nosniff",
        })
        .type(CONTENT_TYPES[form])
        .send(text);
    },
  );
}
