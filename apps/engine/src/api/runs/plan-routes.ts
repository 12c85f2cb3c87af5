import { PLAN_JSON_FORMAT } from "@stackwright/core";
import { PLAN_VIEW_FORMAT } from "@stackwright/plan-view";
import { Run_Mode } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { RUN_KIND, runPlace } from "../../domain/run-places.ts";
import { isServerError, ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { PlanRenderer } from "../../plan-rendering/plan-renderer.ts";
import { idOf } from "../../queue/transaction.ts";
import { type ApiParts, RunParams, routeSchema, stackOf } from "../api-parts.ts";
import { callerGone } from "../end-of-request.ts";
import { blobText, documentsOfCommand, keptText } from "./kept-plan.ts";

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

  /** Reads a form of the plan of a run. Those of runs of a command are of foreign origin. */
  const planText = async (
    request: FastifyRequest<InRun>,
    form: "document" | "view",
  ): Promise<{ readonly text: string; readonly ofCommand: boolean }> => {
    const { run } = request.params;
    const { reference } = await stackOf(parts, parts.principalOf(request), request.params);
    const place = runPlace({ stack: reference, run });
    const [storedRun, stored] = await Promise.all([
      readStored(storage, "strong", idOf(RUN_KIND, place)),
      readStored(storage, "strong", idOf(SERVER_KINDS.summary, place)),
    ]);
    if (storedRun === undefined)
      throw new ServerError("not_found", `the run ${run} does not exist`);
    const message = decodeRecord(RUN_KIND, storedRun);
    const summary = stored && decodeRecord(SERVER_KINDS.summary, stored);
    const ofCommand = message.mode === Run_Mode.MODE_UNSPECIFIED;
    const documents = ofCommand
      ? await documentsOfCommand(storage, reference, message)
      : summary?.planDigest === message.planDigest
        ? summary
        : undefined;
    if (documents === undefined) {
      const isKept = ofCommand && message.planDigest !== "";
      throw new ServerError(
        "not_found",
        isKept
          ? `the command of the run ${run} has not kept its plan in a form to show`
          : `the run ${run} has no plan`,
      );
    }
    const sha256 = form === "view" ? documents.viewSha256 : documents.documentSha256;
    if (sha256 === "") {
      throw new ServerError("not_found", "there is no view of the plan; read its document");
    }
    const text = ofCommand
      ? await keptText(blobs, sha256, form === "view" ? PLAN_VIEW_FORMAT : PLAN_JSON_FORMAT)
      : await blobText(blobs, sha256);
    return { text, ofCommand };
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
        { 422: "what a command kept of the plan is too large, or of no such form" },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      return sendJson(reply, (await planText(request, "document")).text);
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
        { 422: "what a command kept of the plan is too large, or of no such form" },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => sendJson(reply, (await planText(request, "view")).text),
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
      const view = await planText(request, "view");
      const text = await renderer
        .render(view.text, { form, title, limitBytes, isForeign: view.ofCommand }, signal)
        .catch((error: unknown) => {
          if (!view.ofCommand || !isServerError(error) || error.code !== "unprocessable") {
            throw error;
          }
          const why = "what the command kept of the plan is too large to be rendered, or no view";
          throw new ServerError("unprocessable", why, { cause: error });
        });
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
